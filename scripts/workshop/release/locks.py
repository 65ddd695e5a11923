"""The lock: does it fit pyproject.toml, and written anew by uv if not.

It pins what each set needs, for every supported Python and system, with the hash of every
file that the index has of it. The check needs no network.
"""

import argparse
import re
import sys
import tomllib
from pathlib import Path
from tempfile import TemporaryDirectory

from packaging.requirements import Requirement

import _bootstrap
import _uv

HEAD = """\
# Written by `python3 scripts/check.py --upgrade` from pyproject.toml: a heading for each
# set, which holds what those before it do not, or not in that version.
"""
_PROJECT = "pyproject.toml"
SETS = {
    _bootstrap.RUNTIME: (_PROJECT,),
    _bootstrap.DEVELOPMENT: (_PROJECT, "--group", "dev"),
    _bootstrap.OLDEST: (_PROJECT, "--group", "dev", "--group", "oldest"),
    ("uv",): ("--group", "uv"),
}
"""What the sets are made of, the last of them anew: arguments for uv."""
# The one that mitmproxy 12.0 names has no wheel, and would be built with what nobody pins.
# Not in pyproject.toml: older uv then wants a hash of it with every installation.
OVERRIDES = "pyperclip>=1.11"


def wanted(arguments: tuple[str, ...]) -> list[Requirement]:
    """Return what pyproject.toml asks for."""
    text = (_bootstrap.ROOT / "pyproject.toml").read_text(encoding="utf-8")
    read = tomllib.loads(text)
    groups = {_PROJECT: read["project"]["dependencies"]}
    groups |= read["dependency-groups"]
    return [Requirement(line) for name in arguments for line in groups.get(name, ())]


def wrong(names: tuple[str, ...]) -> str:
    """Return in what the lock does not fit pyproject.toml, "" if it does."""
    pins = _bootstrap.packages(_bootstrap.pinned(*names))
    for each in wanted(SETS[names]):
        versions = re.findall(r"(?m)^[^ ]+==(\S+)", pins.get(each.name, ""))
        if not versions or not all(map(each.specifier.contains, versions)):
            has = " and ".join(versions) or "nothing"
            return f"{names[-1]} has {has} where pyproject.toml wants {each}"
    return ""


def compiled(arguments: tuple[str, ...], preferred: str) -> str:
    """Return what uv pins, what *preferred* pins where it can.

    Raises:
        SetupError: uv cannot be had, or finds no set that fits.
    """
    uv = _bootstrap.uv()
    # The hashes are those of the index, never of files that lie around here.
    uv.variables.pop("UV_FIND_LINKS", None)
    with TemporaryDirectory() as folder:
        file = Path(folder, "lock.txt")
        file.write_text(preferred, encoding="utf-8")
        overrides = Path(folder, "overrides.txt")
        overrides.write_text(OVERRIDES, encoding="utf-8")
        command = ["pip", "compile", "--universal", "--quiet"]
        command += ["--python-version", _bootstrap.SUPPORTED[-1]]
        command += ["--only-binary", ":all:", "--generate-hashes"]
        command += ["--no-header", "--no-annotate", "--output-file", str(file)]
        command += ["--overrides", str(overrides)]
        command = uv.command(*command, *arguments)
        _uv.run(f"pinning {' '.join(arguments)}", command, **uv.variables)
        return file.read_text(encoding="utf-8")


def write(*, upgrade: bool) -> None:
    """Write the lock; versions in it stay where they fit, unless *upgrade*."""
    sets: dict[str, dict[str, str]] = {}
    for names, arguments in SETS.items():
        before: dict[str, str] = {}
        for name in names[:-1]:
            before |= sets[name]
        old = {} if upgrade else _bootstrap.packages(_bootstrap.pinned(names[-1]))
        found = _bootstrap.packages(
            compiled(arguments, "".join({**before, **old}.values()))
        )
        sets[names[-1]] = {
            package: pins
            for package, pins in found.items()
            if before.get(package) != pins
        }
    text = "".join(
        f"# {name}\n{''.join(found.values())}" for name, found in sets.items()
    )
    _bootstrap.LOCK.write_text(HEAD + text, encoding="utf-8")


def main() -> int:
    """Check or write the lock and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--fix", action="store_true", help="write it if it does not fit"
    )
    parser.add_argument("--upgrade", action="store_true", help="write it, the newest")
    flags = parser.parse_args()
    try:
        if flags.upgrade or (flags.fix and any(map(wrong, SETS))):
            write(upgrade=flags.upgrade)
        faults = [*filter(None, map(wrong, SETS))]
    except (_uv.SetupError, OSError) as error:
        faults = [*getattr(error, "lines", ()), str(error)]
    for fault in faults:
        print(f"{_bootstrap.LOCK}: {fault}")
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
