"""Running something as an ordinary user, in a mount namespace of its own.

It takes root, which then is given up. Nothing outside sees what is mounted there.
"""

import os
import shlex
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ID = 65534
HOME = Path("/run/home")
RUNTIME = Path("/run/user/65534")


def lacking() -> str:
    """Return why none of this can be had here; empty if it can."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return "it takes root to become another user"
    command = ["unshare", "--mount", "mount", "-t", "tmpfs", "none", "/run"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        return str(error)
    return done.stderr.strip() if done.returncode else ""


def _closed(path: Path) -> Path | None:
    """Return the topmost folder on the way to *path* that others cannot pass."""
    for folder in [*reversed(path.parents), path]:
        if folder.is_dir() and not folder.stat().st_mode & 0o001:
            return folder
    return None


def _shown(paths: Iterable[Path]) -> list[str]:
    """Return the lines that let an ordinary user reach *paths*, and nothing beside."""
    hidden = {path: top for path in paths if (top := _closed(path)) is not None}
    lines = []
    for at, path in enumerate(hidden):
        lines += [f"mkdir -p /run/shown/{at}", f"mount --bind {path} /run/shown/{at}"]
    lines += [f"mount -t tmpfs -o mode=755 none {top}" for top in set(hidden.values())]
    for at, path in enumerate(hidden):
        lines += [f"mkdir -p {path}", f"mount --bind /run/shown/{at} {path}"]
    return lines


def run(
    command: Sequence[str],
    variables: Mapping[str, str],
    *,
    before: Sequence[str] = (),
    after: Sequence[str] = (),
    seconds: float = 120,
) -> str:
    """Run *command* to its end and return what it said; it has to end with 0.

    Args:
        command: Program and arguments.
        variables: All that it has, but for PATH, HOME and XDG_RUNTIME_DIR.
        before: Lines of a shell that root runs first, in the namespace.
        after: The same, at last, whatever happened.
        seconds: When it is ended at the latest.
    """
    mine = {"PATH": "/usr/bin:/bin", "HOME": HOME, "XDG_RUNTIME_DIR": RUNTIME}
    env = [f"{name}={value}" for name, value in {**mine, **variables}.items()]
    limit = ["timeout", "--kill-after=5", str(seconds)]
    become = ["setpriv", f"--reuid={ID}", f"--regid={ID}", "--clear-groups"]
    lines = [
        "set -eu",
        "mount -t tmpfs -o mode=755 none /run",
        # So that systemd knows a machine that systemd started.
        f"mkdir -p /run/systemd/system {RUNTIME.parent}",
        f"install -d -o {ID} -g {ID} -m 700 {HOME} {RUNTIME}",
        *_shown([Path(sys.base_prefix).resolve(), ROOT]),
        *before,
        "cd /",
        "set +e",
        shlex.join([*limit, *become, "env", "-i", *env, *command]),
        "code=$?",
        *after,
        "exit $code",
    ]
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", "\n".join(lines)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout
