"""Do the packages in `.venv` fit together, and is a hole known in any that the lock pins?

uv answers both. For the second it asks a service for advisories (OSV), which not every
network lets through: then nothing was audited, and that is no failure.
"""

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import _bootstrap
import _uv

NOT_DONE = 75  # EX_TEMPFAIL of sysexits.h
_LONGEST = 120  # seconds
_NO_WARNING = ("--preview-features", "audit-command")
# What uv audits is a project with a lock of uv's own, or a script with its requirements.
_SCRIPT = """\
# /// script
# requires-python = ">={version}"
# dependencies = [
{requirements}
# ]
# ///
"""


def main() -> int:
    """Print what was found and return the exit code; arguments go to `uv audit`."""
    try:
        uv = _bootstrap.uv()
        code, output = _asked(uv, "pip", "check", "--python", sys.executable)
        if code:
            print(output)
            return 1
        with TemporaryDirectory() as folder:
            script = Path(folder, "pinned.py")
            script.write_text(requirements(), encoding="utf-8")
            command = ("audit", *_NO_WARNING, "--script", str(script), *sys.argv[1:])
            code, output = _asked(uv, *command)
    except (_uv.CommandError, OSError, subprocess.TimeoutExpired) as error:
        code, output = 2, str(error)
    except _uv.MismatchError as error:
        print(error)
        return 1
    if code in (0, 1):  # audited: no hole, or holes
        print(output)
        return code
    print(f"not audited: {output.rpartition('  cause: ')[2]}")
    return NOT_DONE


def requirements() -> str:
    """Return a script that requires everything that is pinned for the work on it."""
    pins = _bootstrap.pinned(*_bootstrap.DEVELOPMENT).splitlines()
    lines = [line.rstrip(" \\") for line in pins if not line.startswith(" ")]
    return _SCRIPT.format(
        version=_bootstrap.SUPPORTED[-1],
        requirements="\n".join(f'#   "{line}",' for line in lines),
    )


def _asked(uv: _uv.Uv, *arguments: str) -> tuple[int, str]:
    """Return uv's exit code and what it printed."""
    # The interpreter of this environment is the one that it finds.
    path = os.pathsep.join((str(Path(sys.executable).parent), uv.variables["PATH"]))
    done = subprocess.run(
        uv.command(*arguments),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        env={**os.environ, **uv.variables, "PATH": path},
        timeout=_LONGEST,
        check=False,
    )
    return done.returncode, _uv.masked(done.stdout.strip())


if __name__ == "__main__":
    sys.exit(main())
