"""Run the test suite: here, on other versions; with clients, peers, HAProxy, a desktop."""

from __future__ import annotations

import argparse
import glob
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import _bootstrap
import _uv

OLDEST_MITMPROXY = "12.0.0"  # what pyproject.toml's lower bound means
PROGRAMS = {
    "deploy": {"haproxy": "haproxy", "systemd-analyze": "systemd"},
    "desktop": {
        "certutil": "libnss3-tools",
        "chromium": "chromium",
        "curl": "curl",
        "dbus-run-session": "dbus-daemon",
        "dconf": "dconf-cli",
        "gsettings": "libglib2.0-bin",
        "javac": "default-jdk-headless",
        "kwriteconfig5": "libkf5config-bin",
        "node": "nodejs",
        "openssl": "openssl",
        "systemd-analyze": "systemd",
        "update-ca-certificates": "ca-certificates",
        "/usr/bin/python3": "python3",
        "/usr/lib/*/gio/modules/libdconfsettings.so": "dconf-gsettings-backend",
        "/usr/share/glib-2.0/schemas/org.gnome.system.proxy.gschema.xml": (
            "gsettings-desktop-schemas"
        ),
    },
}
"""Programs and files that tests are nothing without, with Debian's package for each."""

# Tests go to the worker that has time, in the order of tests/conftest.py. Each of them
# starts proxies of its own and waits for them, so there are more than cores, and not too
# many on a large machine.
WORKERS = min(8, (os.cpu_count() or 1) * 3)
TO_FREE_WORKERS = ["--dist", "load", "--maxschedchunk", "64"]
SPREAD = ["-n", str(WORKERS), *TO_FREE_WORKERS]
# On the other versions there are fewer tests, and each worker collects all of them.
SPREAD_ELSEWHERE = ["-n", str(min(8, (os.cpu_count() or 1) * 2)), *TO_FREE_WORKERS]

FAST = [
    "tests/fixes",
    "tests/wire",
    "tests/test_layout.py",
    "tests/end_to_end/test_answers.py::test_nim_stream_leaves_as_openai_would_send_it",
]
"""A first answer within half a minute: each fix, recorded answers, a real stream."""

LEFT_OUT: dict[str, tuple[str, list[str]]] = {
    "clients": ("the tests with real clients", []),
    "peers": ("the tests with servers that are nearly compatible", []),
    # One file shares four instances and HAProxy, others wait for containers and services.
    "deploy": (
        "the tests behind HAProxy (which has to be installed)",
        ["-n", "2", "--dist", "loadfile"],
    ),
    # Tests of one group share what they make, and most of them wait.
    "desktop": (
        "the tests with the settings of a desktop (which has to be installed)",
        ["-n", "4", "--dist", "loadgroup"],
    ),
}
"""Folders of tests that the suite leaves out: what they are, and pytest's arguments."""

# Some make environments, or images, before they begin.
UNHURRIED = ["--timeout", "1800"]

# The tests of tools, which run on one version.
TOOLS = [
    "tests/client",
    "tests/demo",
    "tests/desktop_units",
    "tests/docs",
    "tests/doctor",
    "tests/report",
    "tests/run",
    "tests/setup",
    "tests/workshop",
]
# How its time grows is the same on each version.
GROWTH = ["tests/security/test_growth.py"]
# Left out on the other versions, where they would take half of the time. They import no
# mitmproxy, and what of the core an interpreter could change runs there, too: the bytes
# and JSON (tests/wire), the fixes, other protocols and refusals on real flows (end to
# end, faults, tests/exchange).
PURE = [
    "tests/properties",
    "tests/chat",
    "tests/repair",
    "tests/text",
    "tests/fixes",
    "tests/protocols/messages",
    "tests/protocols/responses",
    "tests/request/refusals/test_refusal_parser.py",
    "tests/conformance/test_conformance.py",
    "tests/capture/test_redaction.py",
]

# What a browser makes of our own pages it makes of them on each version.
NO_BROWSER = ["-m", "not browser"]


def without(paths: list[str]) -> list[str]:
    """Return pytest's arguments that leave *paths* out."""
    return [f"--ignore={path}" for path in paths]


VERSIONS = """
import platform
from importlib.metadata import version
print(f"Python {platform.python_version()}, mitmproxy {version('mitmproxy')}")
"""


def compile_once() -> None:
    """Let the processes of the tests share compiled modules, where nothing writes them.

    Containers often switch that off. Then hundreds of mitmdumps would each compile
    mitmproxy and the addon, which takes most of their start.
    """
    if os.environ.pop("PYTHONDONTWRITEBYTECODE", ""):
        # Not beside the sources; Git ignores it as it does the environments.
        folder = _bootstrap.ROOT / ".venv-compiled"
        os.environ.setdefault("PYTHONPYCACHEPREFIX", str(folder))
        # Copies that the tests of another run compiled are never used again.
        inside = folder.joinpath(*Path(tempfile.gettempdir()).parts[1:])
        for old in inside.glob("pytest-of-*"):
            shutil.rmtree(old, ignore_errors=True)


class Result(NamedTuple):
    """One line of the summary."""

    what: str
    outcome: str
    failed: bool = False


def run(what: str, python: Path, arguments: list[str]) -> Result:
    """Run pytest with *python* and return how it went."""
    asked = subprocess.run(
        [str(python), "-c", VERSIONS], capture_output=True, text=True, check=True
    )
    title = f"{what} on {asked.stdout.strip()}"
    print(f"--- {title}", flush=True)
    start = time.monotonic()
    code = _bootstrap.wait_for(
        [str(python), "-m", "pytest", *arguments], _bootstrap.ROOT
    )
    outcome = f"failed (pytest's exit code {code})" if code else "passed"
    return Result(title, f"{outcome} in {time.monotonic() - start:.0f} s", code != 0)


def run_here(arguments: list[str], *, fast: bool) -> Result:
    """Run the suite, or a part of it."""
    here = Path(sys.executable)
    if fast:
        cores = str(os.cpu_count() or 1)
        return run("fast part", here, ["-n", cores, *FAST, *arguments])
    if arguments:
        return run("suite", here, arguments)
    return run("suite", here, [*SPREAD, "--cov"])


def run_elsewhere(
    what: str, tag: str, version: str, names: tuple[str, ...], arguments: list[str]
) -> Result:
    """Run the suite in an environment of its own, which may not be had."""
    try:
        inner = _bootstrap.environment(tag, version, names)
    except _bootstrap.NoPythonError as error:
        return Result(what, f"not run: {error}")
    except (_uv.SetupError, OSError) as error:
        for line in getattr(error, "lines", ()):
            print("    " + line)
        # The interpreter is there, so this is a fault and not a lack.
        return Result(what, f"not run: {error}", failed=True)
    if arguments:
        return run("suite", inner, arguments)
    left_out = [*NO_BROWSER, *without([*PURE, *TOOLS, *GROWTH])]
    return run("suite but for its long tests", inner, [*SPREAD_ELSEWHERE, *left_out])


def run_matrix(arguments: list[str]) -> list[Result]:
    """Run the suite on the other supported versions.

    The oldest Python gets the oldest mitmproxy: between these corners and the newest
    ones, where it runs anyway, nothing has differed, and each takes minutes.
    """
    here = "{}.{}".format(*sys.version_info)
    oldest = _bootstrap.SUPPORTED[-1]
    results = []
    for version in _bootstrap.SUPPORTED:
        if version in (here, oldest):
            continue
        what, tag = f"suite on Python {version}", f"py{version}"
        names = _bootstrap.DEVELOPMENT
        results.append(run_elsewhere(what, tag, version, names, arguments))
    what = f"suite on Python {oldest}, mitmproxy {OLDEST_MITMPROXY}"
    tag = f"mitmproxy-{OLDEST_MITMPROXY}"
    results.append(run_elsewhere(what, tag, oldest, _bootstrap.OLDEST, arguments))
    return results


def run_apart(name: str, arguments: list[str]) -> Result:
    """Run the tests in a folder that the suite leaves out."""
    folder = f"tests/{name}"
    if packages := lacking(name):
        hint = f"install it (Debian, Ubuntu: apt-get install {' '.join(packages)})"
        reason = f"not run: there is no {' and no '.join(packages)}; {hint}"
        return Result(name, reason, failed=True)
    given = arguments or LEFT_OUT[name][1]
    return run(name, Path(sys.executable), [folder, *UNHURRIED, *given])


def lacking(name: str) -> list[str]:
    """Return the packages that the tests called *name* need and that are not here."""
    needed = PROGRAMS.get(name, {})
    return [package for what, package in needed.items() if not is_here(what)]


def is_here(what: str) -> bool:
    """Tell whether a program, or a file by its pattern, is installed."""
    if what.startswith("/"):
        return bool(glob.glob(what))  # noqa: PTH207 - a whole path
    # Debian has HAProxy where an ordinary user's PATH does not look.
    return any(shutil.which(what, path=each) for each in (None, "/usr/sbin"))


def parse(given: list[str]) -> tuple[argparse.Namespace, list[str]]:
    """Return our own flags, and what is pytest's."""
    parser = argparse.ArgumentParser(
        allow_abbrev=False,
        usage="%(prog)s [--fast | --matrix | --matrix-only] [--clients] [--peers] [--deploy] "
        "[--desktop] [ARGS]",
        description="Run the test suite, with full coverage of the addon demanded.",
        epilog=(
            "ARGS go to pytest (paths from the project's root); then coverage is not "
            "measured, and one process runs the tests unless ARGS have -n. The first "
            "start makes the environment in .venv."
        ),
    )
    parser.add_argument(
        "--fast",
        action="store_true",
        help="run a part that answers within half a minute: each fix, recorded answers, "
        "events on the wire, one stream through a real mitmdump",
    )
    parser.add_argument(
        "--matrix",
        action="store_true",
        help=(
            "run it also on the other supported Pythons and the oldest mitmproxy, "
            "there without long tests of the core, and without those of tools"
        ),
    )
    parser.add_argument(
        "--matrix-only", action="store_true", help="the same without the run here"
    )
    for name, (what, _) in LEFT_OUT.items():
        parser.add_argument(
            f"--{name}",
            action="store_true",
            help=f"run tests/{name}, {what}, instead of the suite",
        )
    parser.add_argument(
        "--packages",
        action="store_true",
        help="print Debian's names of what the tests need and is not here, and end",
    )
    cut = given.index("--") if "--" in given else len(given)
    flags, rest = parser.parse_known_args(given[:cut])
    return flags, rest + given[cut + 1 :]


def main() -> int:
    """Run what was asked for and return the exit code."""
    flags, arguments = parse(sys.argv[1:])
    if flags.packages:
        print(*{package: 0 for name in PROGRAMS for package in lacking(name)})
        return 0
    _bootstrap.ensure()
    compile_once()
    results = []
    chosen = [name for name in LEFT_OUT if getattr(flags, name)]
    apart = flags.matrix_only or bool(chosen)
    if flags.matrix or not apart:
        results.append(run_here(arguments, fast=flags.fast))
    if flags.matrix or flags.matrix_only:
        results += run_matrix(arguments)
    results += [run_apart(name, arguments) for name in chosen]
    print("--- summary")
    for result in results:
        print(f"{result.what}: {result.outcome}")
    return int(any(result.failed for result in results))


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
