"""The files in requirements/: do they fit pyproject.toml, and written anew if not.

Each pins what a set needs, for every supported Python and system, with the hash of every
file that the index has of it. The check needs no network; writing is uv's work.
"""

import argparse
import functools
import re
import sys
import tomllib
from typing import NamedTuple

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import _bootstrap
import _uv

HEAD = "# Written by python3 scripts/check.py --upgrade: see pyproject.toml.\n"
_PIN = re.compile(
    r"([\w.-]+)==(\S+)(?: ; ([^\\]+?))? \\\n((?: +--hash=\S+(?: \\)?\n)+)"
)
_HASHES = re.compile(
    r"( +--hash=sha256:[0-9a-f]{64} \\\n)* +--hash=sha256:[0-9a-f]{64}\n"
)


class Set(NamedTuple):
    """What a lock is made of.

    Attributes:
        groups: Of pyproject.toml.
        project: Whether what the addon needs belongs to it.
        extras: What else of the project's own belongs to it.
        within: The lock whose pins it takes over, as far as it names them.
        anywhere: Whether it has to have wheels for all systems of pyproject.toml.
    """

    groups: tuple[str, ...]
    project: bool = False
    extras: tuple[str, ...] = ()
    within: str = ""
    anywhere: bool = True


SETS = {
    "development": Set(("dev",), project=True),
    "runtime": Set((), project=True, extras=("desktop",), within="development"),
    "oldest": Set(("dev", "oldest"), project=True),
    "audit": Set(("audit",)),
    "fuzz": Set(("fuzz",), anywhere=False),
    "pip": Set(("pip",)),
    "uv": Set(("uv",)),
}
"""Each name is a file's; one that others are within stands before them."""


class Wrong(Exception):  # noqa: N818 - what is wrong with a lock, as a sentence
    """Says why a lock does not fit."""


def wanted(which: Set) -> list[Requirement]:
    """Return what pyproject.toml asks for."""
    read = tomllib.loads(
        (_bootstrap.ROOT / "pyproject.toml").read_text(encoding="utf-8")
    )
    lines = list(read["project"]["dependencies"]) if which.project else []
    for extra in which.extras:
        lines += read["project"]["optional-dependencies"][extra]
    for group in which.groups:
        lines += read["dependency-groups"][group]
    return [Requirement(line) for line in lines]


def pins(text: str) -> dict[str, set[str]]:
    """Return the versions of each package in a lock.

    Raises:
        Wrong: A line is no pin with its hashes: another index, say.
    """
    found: dict[str, set[str]] = {}
    rest = text.removeprefix(HEAD)
    while rest:
        match = _PIN.match(rest)
        if match is None or not _HASHES.fullmatch(match[4]):
            line = rest.partition("\n")[0]
            raise Wrong(f"is no list of versions and hashes from {line!r} on")
        found.setdefault(canonicalize_name(match[1]), set()).add(match[2])
        rest = rest[match.end() :]
    return found


def check(name: str) -> None:
    """See that a lock fits pyproject.toml.

    Raises:
        Wrong: It does not.
    """
    which = SETS[name]
    try:
        found = pins(_bootstrap.lock(name).read_text(encoding="utf-8"))
    except OSError as error:
        raise Wrong(f"cannot be read: {error.strerror}") from error
    for each in wanted(which):
        versions = found.get(canonicalize_name(each.name), set())
        if not versions or not all(map(each.specifier.contains, versions)):
            has = " and ".join(sorted(versions)) or "nothing"
            raise Wrong(f"has {has} where pyproject.toml wants {each}")
    if which.within:
        others = pins(_bootstrap.lock(which.within).read_text(encoding="utf-8"))
        for package, versions in found.items():
            if not versions <= others.get(package, set()):
                raise Wrong(f"has another {package} than {which.within}.txt")


@functools.cache
def _uv_at_hand() -> _uv.Uv:
    uv = _bootstrap.uv(sys.executable)
    if uv is None:
        raise _bootstrap.SetupError("uv writes these files, and it cannot be had here")
    return uv


def write(name: str, upgrade: bool) -> None:
    """Write a lock; versions in it stay where they fit, unless *upgrade*.

    It serves all machines, so constraints of this one's pip do not count.

    Raises:
        SetupError: uv cannot be had, or finds no set that fits.
    """
    uv = _uv_at_hand()
    which, file = SETS[name], _bootstrap.lock(name)
    file.parent.mkdir(exist_ok=True)
    command = [uv.path, "--no-progress", "--color", "never", "--quiet"]
    command += [] if which.anywhere else ["--no-config"]
    command += ["--directory", str(_bootstrap.ROOT), "pip", "compile", "--universal"]
    command += ["--python-version", ".".join(map(str, _bootstrap.MINIMUM))]
    command += ["--only-binary", ":all:", "--generate-hashes"]
    command += ["--no-header", "--no-annotate"]
    command += ["--output-file", str(file)]
    command += ["--upgrade"] if upgrade else []
    command += ["pyproject.toml"] if which.project else []
    command += [word for extra in which.extras for word in ("--extra", extra)]
    command += [word for group in which.groups for word in ("--group", group)]
    command += (
        ["--constraints", str(_bootstrap.lock(which.within))] if which.within else []
    )
    # The hashes are those of the index, never of files that lie around here.
    variables = {**uv.variables}
    variables.pop("UV_FIND_LINKS", None)
    _bootstrap.run(f"writing {file.name}", command, **variables)
    file.write_text(HEAD + file.read_text(encoding="utf-8"), encoding="utf-8")


def main() -> int:
    """Check or write all locks and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fix", action="store_true", help="write what does not fit")
    parser.add_argument("--upgrade", action="store_true", help="write all, the newest")
    flags = parser.parse_args()
    failed = False
    for name in SETS:
        try:
            if flags.upgrade:
                write(name, upgrade=True)
            try:
                check(name)
            except Wrong:
                if not flags.fix:
                    raise
                write(name, upgrade=False)
                check(name)
        except (Wrong, _bootstrap.SetupError, OSError) as error:
            print("\n".join(getattr(error, "lines", ())))
            print(f"{_bootstrap.lock(name)}: {error}")
            failed = True
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
