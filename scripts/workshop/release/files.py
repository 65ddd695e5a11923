"""The files that are handed out, each of them the same bytes for the same commit."""

import hashlib
import os
import re
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import _bootstrap
import _uv

OLDEST = 315532800
"""1980-01-01: a zip has no times before it."""

HOWTO = Path(__file__).with_name("howto.txt")
"""What the zip says of itself, with a place for the version."""


def version(root: Path = _bootstrap.ROOT) -> str:
    """Return the package's version, without importing it."""
    text = (root / "addon/llm_normalize/__init__.py").read_text(encoding="utf-8")
    (found,) = re.findall(r'(?m)^__version__ = "([^"]+)"$', text)
    return str(found)


def _git(*arguments: str) -> str:
    """Return what git says of the project; empty where there is no repository."""
    command = ["git", "-C", str(_bootstrap.ROOT), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, check=False)
    except OSError:
        return ""
    return "" if done.returncode else done.stdout.decode(errors="replace").strip()


def epoch() -> int:
    """Return the seconds since 1970 that the files are dated.

    Raises:
        SetupError: SOURCE_DATE_EPOCH is set, and no number.
    """
    given = os.environ.get("SOURCE_DATE_EPOCH", "")
    if given and not given.isdecimal():
        raise _uv.SetupError(
            f"SOURCE_DATE_EPOCH is {given!r}, which is no number of seconds"
        )
    # Where neither is known, as in an unpacked sdist: 2020-02-02, as hatchling has it.
    return max(int(given or _git("log", "-1", "--format=%ct") or 1580601600), OLDEST)


def _entries(root: Path, top: str) -> Iterator[tuple[str, bytes]]:
    """Yield what the zip holds: names and bytes."""
    addon = root / "addon"
    for path in addon.rglob("*"):
        within = path.relative_to(addon)
        hidden = any(
            part.startswith(".") or part == "__pycache__" for part in within.parts
        )
        if path.is_file() and not hidden and path.suffix != ".pyc":
            yield f"{top}/{within.as_posix()}", path.read_bytes()
    yield f"{top}/LICENSE", (root / "LICENSE").read_bytes()
    howto = HOWTO.read_text(encoding="utf-8").format(version=version(root))
    # For Notepad, too.
    yield f"{top}/HOWTO.txt", howto.replace("\n", "\r\n").encode()


def make_zip(folder: Path, seconds: int, root: Path = _bootstrap.ROOT) -> Path:
    """Write the zip of addon/ to *folder*.

    Args:
        folder: Where to.
        seconds: Since 1970: when everything in it was changed, as it says.
        root: The project.
    """
    top = f"llm_normalize-{version(root)}"
    made = folder / f"{top}.zip"
    when = time.gmtime(seconds)[:6]
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as file:
        for name, data in sorted(_entries(root, top)):
            entry = zipfile.ZipInfo(name, when)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3  # Unix, wherever it is made
            entry.external_attr = 0o100644 << 16
            file.writestr(entry, data)
    return made


def make_packages(folder: Path, seconds: int) -> list[Path]:
    """Write the wheel and the sdist to *folder*.

    Raises:
        SetupError: They cannot be built.
    """
    # With the pinned hatchling of this environment: an isolated one would fetch another.
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder)]
    done = subprocess.run(
        [*command, "--wheel", "--sdist", str(_bootstrap.ROOT)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        env={**os.environ, "SOURCE_DATE_EPOCH": str(seconds)},
        check=False,
    )
    if done.returncode:
        last = done.stdout.strip().splitlines()[-12:]
        raise _uv.SetupError("the wheel cannot be built", last)
    return sorted(folder.glob("llm_normalize-*.whl")) + sorted(folder.glob("*.tar.gz"))


def run(output: Path) -> int:
    """Build everything into *output*, tell what it is, and return the exit code."""
    try:
        seconds = epoch()
        output.mkdir(parents=True, exist_ok=True)
        # In the same folder, so that what is there is replaced in one step.
        with TemporaryDirectory(dir=output, prefix=".building-") as name:
            folder = Path(name)
            for path in [*make_packages(folder, seconds), make_zip(folder, seconds)]:
                data = path.read_bytes()
                path.replace(output / path.name)
                digest = hashlib.sha256(data).hexdigest()
                print(f"{digest}  {len(data):9,} bytes  {output / path.name}")
    except _uv.SetupError as error:
        _uv.tell(error, "build.py")
        return 1
    except OSError as error:
        _bootstrap.say(f"build.py: {output}: {error.strerror or error}")
        return 1
    if _git("status", "--porcelain"):
        _bootstrap.say("build.py: what was built holds changes that are not committed")
    return 0
