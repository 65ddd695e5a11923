"""`llm-normalize completion`: print what a shell reads to complete the command."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

PROG = "llm-normalize completion"
SHELLS = {
    "bash": "llm-normalize.bash",
    "fish": "llm-normalize.fish",
    "powershell": "llm-normalize.ps1",
    "zsh": "_llm-normalize",
}


def parse(given: Sequence[str]) -> str:
    """Return the shell that the command line names."""
    parser = argparse.ArgumentParser(
        prog=PROG,
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Print completions of the command for a shell.",
        epilog='bash        eval "$(llm-normalize completion bash)", in ~/.bashrc\n'
        "zsh         llm-normalize completion zsh > FOLDER/_llm-normalize, in $fpath\n"
        "fish        llm-normalize completion fish > "
        "~/.config/fish/completions/llm-normalize.fish\n"
        "powershell  llm-normalize completion powershell | Out-String | "
        "Invoke-Expression,\n            in $PROFILE",
    )
    parser.add_argument("shell", choices=tuple(SHELLS))
    return str(parser.parse_args(given).shell)


def main(given: Sequence[str]) -> int:
    """Print them and return the exit code."""
    file = Path(__file__).with_name(SHELLS[parse(given)])
    print(file.read_text(encoding="utf-8"), end="")
    return 0
