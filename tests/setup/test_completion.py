"""What completes the command in a shell, and the manual beside it."""

import shutil

import pytest

from llm_normalize import cli
from llm_normalize.setup.completion.command import SHELLS, main
from script_runs import ended

BASH = """
eval "$1"; shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
_shtab_llm_normalize
echo "${COMPREPLY[@]}"
"""


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        (["sta"], "status"),
        (["--provider", "nv"], "nvidia"),
        (["doctor", "--provider", "gr"], "groq"),
        (["completion", ""], "bash fish powershell zsh"),
        (["nvi"], "nvidia"),
        (["groq", "--we"], "--web"),
        (["uninstall", "--dry"], "--dry-run"),
    ],
)
def test_bash_completes_tools_flags_and_providers(
    words: list[str], completed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bash"]) == 0
    text = capsys.readouterr().out
    done = ended(["bash", "-c", BASH, "bash", text, "llm-normalize", *words])
    assert (done.stdout.strip(), done.stderr) == (completed, "")


@pytest.mark.parametrize("shell", SHELLS)
def test_every_shell_gets_every_tool(
    shell: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([shell]) == 0
    text = capsys.readouterr().out
    assert [name for name in cli.TOOLS if name not in text] == []
    if shutil.which(shell):
        assert ended([shell, "-n", "-c", text]).stderr == ""


def test_another_shell_is_a_wrong_call(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["tcsh"])
    assert "'bash'" in capsys.readouterr().err
