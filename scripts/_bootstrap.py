"""Make the environment that the scripts share, and restart them in it.

Written for Python 3.8: that is what `python3` often names, while mitmproxy needs 3.12.
uv finds a newer interpreter, or fetches one, and fills `.venv` with what lock.txt pins by
hash; where uv cannot be had, pip does. A stamp there, written last, says what it holds: an
environment without one is half made and is made anew. What only uses the project needs
`RUNTIME` there; what works on it needs `DEVELOPMENT`.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Callable, Iterator, NoReturn, Sequence

import _uv

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "scripts" / "lock.txt"
RUNTIME = ("runtime",)
DEVELOPMENT = (*RUNTIME, "development")
# Not with what runtime has beside: the oldest mitmproxy does not stand the newest bcrypt.
OLDEST = ("development", "oldest")
"""Sets of the lock, each of which may replace what those before it pin."""
SUPPORTED = ("3.14", "3.13", "3.12")
FORCED = "LLM_NORMALIZE_PYTHON"
RESTARTED = "_LLM_NORMALIZE_RESTARTED"
STAMP = "llm_normalize.json"
say = _uv.say
PROBE = "import sys; print(sys.implementation.name, '%d.%d' % sys.version_info[:2])"


class NoPythonError(_uv.SetupError):
    """No interpreter of the version that is wanted can be had."""


def packages(requirements: str) -> dict[str, str]:
    """Return the lines of *requirements* by the package that they pin."""
    found: dict[str, str] = {}
    for pin in re.findall(r"(?m)^[\w.-]+==.*\n(?: .*\n)*", requirements):
        name = pin.partition("==")[0]
        found[name] = found.get(name, "") + pin
    return found


def pinned(*names: str) -> str:
    """Return what the lock pins for these sets: requirements with their hashes."""
    parts = re.split(r"(?m)^# ([a-z]+)\n", LOCK.read_text(encoding="utf-8"))
    texts = dict(zip(parts[1::2], parts[2::2]))
    found: dict[str, str] = {}
    for name in names:
        found.update(packages(texts[name]))
    return "".join(found.values())


def uv() -> _uv.Uv:
    """Return the uv to use.

    Raises:
        SetupError: It cannot be had.
    """
    return _uv.find(ROOT / ".venv-uv", pinned("uv"))


def uv_or_none() -> _uv.Uv | None:
    """Return the uv to use, None where pip has to do its work.

    Raises:
        MismatchError: pip fetched another one than the pinned one.
    """
    try:
        return uv()
    except _uv.CommandError as error:
        say(f"    {error.reason}\n  So pip does its work.")
        return None


def _remove(folder: Path) -> None:
    if folder.is_symlink():
        folder.unlink()
    elif folder.exists():
        shutil.rmtree(folder)


def _make(folder: Path, wanted: str, uv: _uv.Uv | None) -> None:
    """Make an empty environment in *folder*, without whatever was there.

    Args:
        folder: Where.
        wanted: A version, a path or a name of Python; any that is supported if empty.
        uv: What finds or fetches one; without it, one has to be at hand.
    """
    _remove(folder)
    reason = "it cannot be had"
    if uv is not None:
        request = wanted or f"cpython>={SUPPORTED[-1]},<={SUPPORTED[0]}.99"
        try:
            command = uv.command("venv", "--python", request, str(folder))
            _uv.run(f"making {folder.name}", command, **uv.variables)
        except _uv.CommandError as error:
            reason = error.reason
            _remove(folder)
    if not folder.exists():
        _make_with_pip(folder, wanted, reason)
    answer = _uv.answer(str(_uv.program(folder, "python")), "-c", PROBE).split()
    if answer[:1] != ["cpython"] or [*map(int, answer[1].split("."))] < [3, 12]:
        _remove(folder)
        raise _uv.SetupError(
            f"{wanted or 'the Python found'} is {' '.join(answer) or 'broken'}: mitmproxy "
            f"does not run on it, so name a CPython 3.12 or newer in {FORCED}."
        )


def _at_hand(wanted: str) -> Iterator[str]:
    """Yield the interpreters on this machine that fit."""
    if wanted and wanted not in SUPPORTED:
        yield from _uv.programs(wanted)
        return
    versions = (wanted,) if wanted else SUPPORTED
    names = [f"python{version}" for version in versions]
    for python in _uv.programs(*names, "python3", "python"):
        answer = _uv.answer(python, "-c", PROBE).strip()
        if answer in [f"cpython {version}" for version in versions]:
            yield python


def _make_with_pip(folder: Path, wanted: str, reason: str) -> None:
    """Make *folder* with an interpreter that is at hand; *reason* is why uv did not."""
    python = next(_at_hand(wanted), None)
    if python is None:
        what = wanted if wanted and wanted not in SUPPORTED else f"Python {wanted}"
        raise NoPythonError(
            f"{what if wanted else 'Python 3.12 or newer'} is not at hand and could not be "
            "fetched: install it (package manager, pyenv or python.org) or name one in "
            f"{FORCED} [uv: {reason}]."
        )
    try:
        _uv.run(
            f"making {folder.name} with {python}", [python, "-m", "venv", str(folder)]
        )
    except _uv.CommandError as error:
        _remove(folder)
        raise _uv.SetupError(
            f"{python} cannot make an environment: install uv, or what it lacks (Debian, "
            "Ubuntu: apt-get install python3-venv).",
            error.lines,
        ) from error


def fill(
    folder: Path, requirements: Path, title: str, uv: _uv.Uv | None, **more: str
) -> None:
    """Install exactly what *requirements* pin in the environment *folder*.

    Raises:
        MismatchError: A hash differs, or is missing.
        CommandError: Neither uv nor pip can.
    """
    inner = str(_uv.program(folder, "python"))
    arguments = (*_uv.EXACTLY, str(requirements))
    if uv is not None:
        try:
            command = uv.install(inner, *arguments)
            _uv.run(title, command, **{**uv.variables, **more})
        except _uv.CommandError as error:
            say(f"    {error.reason}\n  So pip does its work.")
        else:
            return
    pip = [inner, "-m", "pip"]
    if not _uv.answer(*pip, "--version"):
        _uv.run("installing pip", [inner, "-m", "ensurepip"])
    title += " with pip (a minute or so, the first time)"
    _uv.run(title, [*pip, "install", "--quiet", "--retries", "2", *arguments])


@contextlib.contextmanager
def _locked() -> Iterator[None]:
    """Keep other starts waiting; the lock goes with the process, however it ends."""
    with (ROOT / ".venv.lock").open("a+") as file:
        waiting = False
        while not _lock(file.fileno()):
            if not waiting:
                say("llm_normalize: another start is making an environment; waiting")
            waiting = True
            time.sleep(0.1)
        yield


def _lock(number: int) -> bool:
    try:
        if sys.platform == "win32":
            os.lseek(number, 0, os.SEEK_SET)
            msvcrt.locking(number, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        # Some network file systems have no locks: better unlocked than stuck.
        return error.errno not in (errno.EAGAIN, errno.EACCES, errno.EDEADLK)
    return True


def _read_stamp(folder: Path, wanted: str) -> dict[str, Any]:
    """Return the stamp in *folder*, empty if it has to be made anew.

    That is: no stamp, moved, its interpreter gone or another one, or not *wanted*.
    """
    try:
        stamp = json.loads((folder / STAMP).read_text(encoding="utf-8"))
        link = _uv.program(folder, "python").resolve(strict=True)
        place = str(folder.resolve())  # a link to an environment will do
        kept = {"folder": place, "link": str(link)}.items() <= stamp.items()
        kept = kept and wanted in ("", stamp["wanted"]) and bool(dict(stamp["holds"]))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}
    return dict(stamp) if kept else {}


def environment(
    tag: str = "", wanted: str = "", names: Sequence[str] = DEVELOPMENT
) -> Path:
    """Return the python of an environment, which is made or completed if need be.

    Args:
        tag: "" for `.venv`, which everything uses; else `.venv-<tag>`.
        wanted: A version, a path or a name of the Python; any supported one if empty.
        names: The sets whose packages it has to hold; what else it holds stays.

    Raises:
        SetupError: It cannot be made.
        OSError: The project's folder cannot be written to.
    """
    folder = ROOT / (f".venv-{tag}" if tag else ".venv")
    digests = {
        name: hashlib.sha256(pinned(name).encode()).hexdigest() for name in names
    }
    if digests.items() <= _read_stamp(folder, wanted).get("holds", {}).items():
        return _uv.program(folder, "python")
    with _locked():
        stamp = _read_stamp(folder, wanted)  # another start may have made it
        held = stamp.get("holds", {})
        if digests.items() <= held.items():
            return _uv.program(folder, "python")
        if tag:  # made anew: what another lock brought may be in the way of these tests
            stamp, held = {}, {}
        what = f"making {folder}"
        if stamp:
            # Completed in place: someone's mitmdump may be running in it.
            if folder.is_symlink():
                raise _uv.SetupError(
                    f"{folder} is a link to {folder.resolve()}, which lacks packages that "
                    "this checkout pins: start the same script there, or remove the link."
                )
            what = f"other packages are pinned now, updating {folder.name}"
            if not digests.keys() <= held.keys():
                what = f"adding the packages for {names[-1]} to {folder.name}"
        say(f"llm_normalize: {what}")
        uv = uv_or_none()
        if not stamp:
            _make(folder, wanted, uv)
            link = str(_uv.program(folder, "python").resolve(strict=True))
            stamp = {"folder": str(folder), "link": link, "wanted": wanted}
        requirements = folder / "requirements.txt"
        requirements.write_text(pinned(*names), encoding="utf-8")
        with _unstamped(folder):
            _install(folder, requirements, names, uv)
        text = json.dumps({**stamp, "holds": {**held, **digests}}, indent=1)
        (folder / STAMP).write_text(text, encoding="utf-8")
    return _uv.program(folder, "python")


@contextlib.contextmanager
def _unstamped(folder: Path) -> Iterator[None]:
    """Take the stamp away meanwhile; after an error it comes back if nothing is gone.

    That is the rule: uv and pip fetch everything before they change anything.
    """
    stamp, before = folder / STAMP, _installed(folder)
    text = stamp.read_text(encoding="utf-8") if stamp.exists() else ""
    if text:
        stamp.unlink()
    try:
        yield
    except _uv.SetupError:
        if text and before <= _installed(folder):
            stamp.write_text(text, encoding="utf-8")
            say(
                f"  {folder.name} still has what it had: what started before still does."
            )
        raise


def _installed(folder: Path) -> set[Path]:
    """Return what says which packages the environment in *folder* has."""
    return set(folder.glob("[Ll]ib*/**/site-packages/*.dist-info"))


def _install(
    folder: Path, requirements: Path, names: Sequence[str], uv: _uv.Uv | None
) -> None:
    title = "installing mitmproxy"
    more = {}
    if names == RUNTIME:
        more["UV_NO_CACHE"] = "1"  # who only uses it installs it once
    else:
        title += " and what the work on it needs"
    try:
        fill(folder, requirements, title, uv, **more)
    except _uv.CommandError as error:
        raise _uv.CommandError(
            "the packages cannot be installed, the lines above say why: check the "
            "network, and the proxy (HTTPS_PROXY) and index (PIP_INDEX_URL) that pip uses, "
            "then start again. If one has no wheel for this system, load the addon in a "
            "mitmproxy of your own (mitmdump -s addon/normalize.py).",
            error.lines,
        ) from error


# Restarting


def wait_for(command: Sequence[str], folder: Path | None = None) -> int:
    """Run *command* in *folder* and return its exit code.

    Raises:
        KeyboardInterrupt: After the command, which gets a Ctrl-C too, has ended.
    """
    with subprocess.Popen(command, cwd=folder) as process:
        try:
            return process.wait()
        except KeyboardInterrupt:
            process.wait()
            raise


def become(command: Sequence[str]) -> NoReturn:
    """Replace this process by *command*."""
    for name in ("PYTHONHOME", "__PYVENV_LAUNCHER__"):
        os.environ.pop(name, None)
    sys.stdout.flush()
    if os.name == "nt":  # its execv returns to the shell at once
        try:
            sys.exit(wait_for(command))
        except KeyboardInterrupt:
            sys.exit(130)
    os.execv(command[0], list(command))  # noqa: S606 - no shell wanted


def _enter(names: Sequence[str]) -> None:
    restarted = os.environ.pop(RESTARTED, None)
    python = environment(wanted=os.environ.get(FORCED, ""), names=names)
    folder = python.parent.parent
    if Path(sys.prefix).resolve() == folder.resolve():
        return
    if restarted:
        raise _uv.SetupError(f"{folder} is broken: remove that folder and start again.")
    os.environ[RESTARTED] = "1"
    become([str(python), str(Path(sys.argv[0]).resolve()), *sys.argv[1:]])


def ensure(names: Sequence[str] = DEVELOPMENT) -> None:
    """Return in `.venv`: made if need be, the script restarted in it if need be.

    Ends the process with a sentence on stderr and code 1 if it cannot be made.

    Args:
        names: The sets of the lock whose packages the script needs there.
    """
    try:
        _enter(names)
    except _uv.SetupError as error:
        _uv.tell(error)
    except OSError as error:
        advice = "copy this folder to where you may write, and start it there"
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            advice = "the disk is full: free some space, and start again"
        say(f"llm_normalize: cannot make the environment in {ROOT}: {error}; {advice}")
    except KeyboardInterrupt:
        say("\nllm_normalize: interrupted; the next start begins this step again")
        sys.exit(130)
    else:
        return
    sys.exit(1)


def main(
    parse: Callable[[list[str]], argparse.Namespace],
    run: Callable[[argparse.Namespace], int],
) -> NoReturn:
    """Be the script that is started, in the environment.

    Args:
        parse: Returns what the command line asks for.
        run: Does that, and returns the exit code.
    """
    try:
        flags = parse(sys.argv[1:])
        ensure()
        sys.exit(run(flags))
    except KeyboardInterrupt:
        sys.exit(130)
