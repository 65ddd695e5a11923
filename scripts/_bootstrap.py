"""Make the environment that the scripts share, and restart them in it.

Written for Python 3.8: that is what `python3` often names, while mitmproxy needs
3.12. So this finds a newer interpreter, makes `.venv` with what requirements/*.txt pins
by hash, and leaves a stamp there, written last. A start that finds the stamp in order
does nothing else; an environment without one is half made and is made anew. What only
uses the project needs `runtime` there; what works on it adds `development` to that.
"""

from __future__ import annotations

import argparse
import collections
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
from typing import Any, Callable, Iterator, NamedTuple, NoReturn, Sequence

import _uv

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

ROOT = Path(__file__).resolve().parent.parent
RUNTIME = ("runtime",)
DEVELOPMENT = ("development",)
WITHIN = {"development": RUNTIME}
"""Sets that another one holds: scripts/check.py sees to it that their pins agree."""
MINIMUM = (3, 12)
FETCHED = "3.13"  # what uv is asked for when the machine has nothing
NAMES = ("python3.14", "python3.13", "python3.12", "python3", "python")
FORCED = "LLM_NORMALIZE_PYTHON"
RESTARTED = "_LLM_NORMALIZE_RESTARTED"
STAMP = "llm_normalize.json"
WINDOWS = os.name == "nt"

# Written for any Python 3, and harmless to whatever else is called "python".
PROBE = """
import importlib.util, json, os, sys, sysconfig
base = getattr(sys, "_base_executable", None) or sys.executable
wheels = sys.implementation.name == "cpython"
if sysconfig.get_config_var("Py_GIL_DISABLED"):
    wheels = False
has = [importlib.util.find_spec(name) for name in ("venv", "ensurepip", "pip")]
has = [spec is not None for spec in has]
version = list(sys.version_info[:3])
print(json.dumps([sys.executable, os.path.realpath(base), version, wheels] + has))
"""

# For pip and uv alike: nothing that no lock names, whoever needs it; no file with another
# hash; and nothing is built, for that would fetch tools that no lock names.
EXACTLY = ("--no-deps", "--require-hashes", "--only-binary", ":all:")


class SetupError(Exception):
    """What is missing and how to repair it, as one sentence."""


class CommandError(SetupError):
    """A command failed; `lines` are the last that it printed, `output` are many more."""

    def __init__(
        self, message: str, lines: Sequence[str], output: Sequence[str] = ()
    ) -> None:
        super().__init__(message)
        self.lines = lines
        self.output = output or lines


class MismatchError(SetupError):
    """What is offered is not what was reviewed; no other program is to try it."""

    def __init__(self, message: str, lines: Sequence[str]) -> None:
        super().__init__(message)
        self.lines = lines


class Python(NamedTuple):
    """An interpreter that was started and answered.

    Attributes:
        path: How to start it.
        base: The same without symlinks, and outside any environment.
        version: Three numbers.
        wheels: False where mitmproxy has no wheels (PyPy, free threading).
        venv: Whether it has the module; likewise `ensurepip` and `pip`, which
            Debian and Ubuntu keep in packages of their own.
    """

    path: str
    base: str
    version: tuple[int, ...]
    wheels: bool = True
    venv: bool = True
    ensurepip: bool = True
    pip: bool = True

    @property
    def name(self) -> str:
        """The version as people write it."""
        return ".".join(str(number) for number in self.version)

    @property
    def makes_environments(self) -> bool:
        """Whether an environment with pip in it can be made."""
        return self.venv and (self.ensurepip or self.pip)

    @property
    def fits(self) -> bool:
        """Whether mitmproxy runs on it."""
        return self.wheels and self.version >= MINIMUM


def say(text: str, end: str = "\n") -> None:
    """Print *text* to stderr: stdout belongs to the script."""
    print(text, end=end, file=sys.stderr, flush=True)


def program(folder: Path, name: str, windows: bool = WINDOWS) -> Path:
    """Return where the environment in *folder* keeps the program *name*."""
    if windows:
        return folder / "Scripts" / (name + ".exe")
    return folder / "bin" / name


# Finding an interpreter


def _path_folders() -> list[Path]:
    return [Path(folder) for folder in os.get_exec_path() if folder]


def _pyenv_pythons() -> Iterator[Path]:
    roots = []
    if os.environ.get("PYENV_ROOT"):
        roots.append(Path(os.environ["PYENV_ROOT"]))
    with contextlib.suppress(RuntimeError):  # no home folder at all
        roots += [Path.home() / ".pyenv", Path.home() / ".pyenv" / "pyenv-win"]
    # With another HOME the shims on PATH still tell where pyenv is.
    roots += [folder.parent for folder in _path_folders() if folder.name == "shims"]
    # And so does an interpreter that is one of pyenv's own.
    own = Path(sys.base_prefix).parent
    if own.name == "versions":
        roots.append(own.parent)
    for root in roots:
        found = []
        for folder in root.glob("versions/3.*"):
            numbers = [int(digits) for digits in re.findall(r"\d+", folder.name)]
            if tuple(numbers[:2]) >= MINIMUM:
                found.append((numbers, folder))
        for _, folder in sorted(found, reverse=True):
            yield folder / ("python.exe" if WINDOWS else "bin/python3")


def candidates() -> Iterator[list[str]]:
    """Yield commands that may start a Python, best first.

    A name on PATH proves nothing: pyenv's shims and the Windows Store's stub are
    there without a Python behind them. So every place that has the name counts.
    """
    yield [sys.executable]
    for name in NAMES:
        for folder in _path_folders():
            path = folder / (name + ".exe" if WINDOWS else name)
            if path.is_file():
                yield [str(path)]
    if WINDOWS:
        for name in NAMES[:3]:
            yield ["py", name.replace("python", "-")]
    for path in _pyenv_pythons():
        if path.is_file():
            yield [str(path)]


def _clean(**more: str) -> dict[str, str]:
    """Return the process environment without what would lead Python or pip astray."""
    led_astray = ("PYTHONHOME", "PYTHONPATH", "__PYVENV_LAUNCHER__", "PIP_TARGET")
    # One at a time: where threads run, a variable may go meanwhile.
    values = ((name, os.environ.get(name)) for name in list(os.environ))
    kept = {
        name: value
        for name, value in values
        if value is not None and name not in led_astray
    }
    quiet = {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INPUT": "1", "PIP_USER": "0"}
    return {**kept, **quiet, **more}


def probe(command: Sequence[str]) -> Python | None:
    """Start *command* and return what it is, or None if that does not work."""
    try:
        answer = subprocess.run(
            [*command, "-c", PROBE],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=_clean(),
            timeout=30,
            check=True,
        ).stdout
        path, base, version, *rest = json.loads(answer)
        return Python(path, base, tuple(version), *rest)
    except (OSError, subprocess.SubprocessError, ValueError, TypeError):
        return None


def pythons(broken: list[str] | None = None) -> Iterator[Python]:
    """Yield every interpreter that starts, whatever its version, best first.

    Args:
        broken: Takes the names of those that do not start.
    """
    tried = set()
    seen = set()
    for command in candidates():
        place = (os.path.realpath(command[0]), *command[1:])
        if place in tried:
            continue
        tried.add(place)
        found = probe(command)
        if found is None:
            if broken is not None:
                broken.append(" ".join(command))
        elif found.base not in seen:
            seen.add(found.base)
            yield found


def _lacks(python: Python) -> str:
    package = "python{}.{}-venv".format(*python.version)
    return f"{python.path} has neither ensurepip nor pip; install {package}"


def forced_python() -> Python | None:
    """Return the interpreter that the user asked for, None if he did not.

    Raises:
        SetupError: It does not start, or does not fit.
    """
    value = os.environ.get(FORCED)
    if not value:
        return None
    found = probe([shutil.which(value) or value])
    if found is None:
        raise SetupError(
            f"{FORCED} names {value}, which does not start as a Python: "
            "correct it or unset it."
        )
    if not found.fits:
        raise SetupError(
            f"{FORCED} names Python {found.name} ({found.path}), which mitmproxy does "
            "not run on: name a CPython 3.12 or newer, or unset it."
        )
    if not found.makes_environments:
        raise SetupError(f"{FORCED}: {_lacks(found)}.")
    return found


# Making an environment


def run(title: str, command: Sequence[str], **more: str) -> str:
    """Run one step, say how long it took and return its output.

    Args:
        title: What the user reads while it runs.
        command: Program and arguments.
        more: Environment variables to add.

    Raises:
        CommandError: The command did not start or failed.
    """
    say(f"  {title} ... ", end="")
    start = time.monotonic()
    lines: collections.deque[str] = collections.deque(maxlen=500)
    try:
        with subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
            env=_clean(**more),
        ) as process:
            assert process.stdout is not None
            lines.extend(line.rstrip() for line in process.stdout)
        failed = process.returncode != 0
    except OSError as error:
        lines.append(str(error))
        failed = True
    say(f"{'failed after ' if failed else ''}{time.monotonic() - start:.1f} s")
    if failed:
        output = [_uv.masked(line) for line in lines if line]
        raise CommandError(f"{title} failed", output[-12:], output)
    return "\n".join(lines)


def lock(name: str) -> Path:
    """Return the file that pins what the set *name* needs, with its hashes."""
    return ROOT / "scripts" / "requirements" / f"{name}.txt"


def exactly(*names: str) -> list[str]:
    """Return arguments for pip and uv to install what these locks pin, or nothing."""
    return [*EXACTLY, *(word for name in names for word in ("-r", str(lock(name))))]


def install(title: str, command: Sequence[str], **more: str) -> None:
    """Run a step that installs what locks pin.

    Raises:
        MismatchError: A hash differs, or is missing.
        CommandError: The command did not start or failed.
    """
    try:
        run(title, command, **more)
    except CommandError as error:
        package = _uv.mismatch(error.output)
        if package is None:
            raise
        files = [word for before, word in zip(command, command[1:]) if before == "-r"]
        raise MismatchError(
            f"{package} is not what was reviewed, so it was not installed: what was "
            f"fetched has another hash than {' and '.join(files)} names. Take back "
            "changes there; if there are none, the package index or a proxy on the way "
            "sends other files, so have pip ask another index (PIP_INDEX_URL).",
            error.lines,
        ) from error


def _remove(folder: Path) -> None:
    if folder.is_symlink():
        folder.unlink()
    elif folder.exists():
        shutil.rmtree(folder)


def _make(folder: Path, python: Python) -> None:
    """Make an environment with pip in *folder*, without whatever was there."""
    _remove(folder)
    title = f"making {folder.name}"
    if python.ensurepip:
        run(title, [python.path, "-m", "venv", str(folder)])
        return
    run(title, [python.path, "-m", "venv", "--without-pip", str(folder)])
    inner = str(program(folder, "python"))
    pip = [python.path, "-m", "pip", "--python", inner, "install", *exactly("pip")]
    install(f"installing pip in {folder.name}", pip)


def _fetch(makers: Sequence[Python]) -> Python:
    """Return an interpreter that uv has or fetches; nothing outside ROOT changes.

    Args:
        makers: Interpreters, too old themselves, that can make uv's environment.

    Raises:
        SetupError: There is no way to get uv, or uv got nothing.
    """
    home = _uv_home()
    mine = str(program(home / "program", "uv"))
    places = (shutil.which("uv") or mine, mine)
    uv = next((place for place in places if _version(place) is not None), None)
    if uv is None:
        if not makers:
            raise SetupError("no interpreter here can make an environment for it")
        _make(home / "program", makers[0])
        inner = str(program(home / "program", "python"))
        _install_uv([inner, "-m", "pip"])
        uv = mine
    own = {
        "UV_CACHE_DIR": str(home / "cache"),
        "UV_PYTHON_INSTALL_DIR": str(home / "pythons"),
        "UV_PYTHON_INSTALL_BIN": "0",
        "UV_PYTHON_INSTALL_REGISTRY": "0",
        "UV_PYTHON_PREFERENCE": "only-managed",
    }
    run(f"fetching Python {FETCHED} with uv", [uv, "python", "install", FETCHED], **own)
    find = [uv, "python", "find", "--system", FETCHED]
    answer = run("asking uv where it is", find, **own).split("\n")
    found = probe(answer[-1:])
    if found is None:
        raise SetupError("what uv fetched does not start")
    return found


# uv


def _uv_home() -> Path:
    return ROOT / ".venv-uv"


def _version(uv: str) -> str | None:
    """Return what *uv* says that it is, None if it does not start."""
    try:
        version = subprocess.run([uv, "--version"], capture_output=True, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return version.stdout.decode(errors="replace")


def _install_uv(pip: Sequence[str]) -> None:
    quick = ("--retries", "2", "--no-compile")
    install("installing uv", [*pip, "install", *quick, *exactly("uv")])


def _own_uv(python: str) -> _uv.Uv | None:
    """Return the pinned uv, installed by the pip of *python* if need be.

    Args:
        python: That of an environment with pip.

    Raises:
        MismatchError: What pip fetched is another one.
        CommandError: pip cannot install it.

    Returns:
        None where pip has a setting that uv cannot take. Else it tells what it may install.
    """
    home = _uv_home()
    listing = run(
        "asking pip for its settings", [python, "-m", "pip", "config", "list"]
    )
    for line in _uv.extra_indexes(listing, os.environ):
        say("    " + line)
    variables = _uv.variables_for(listing, str(home / "cache"))
    if variables is None:
        return None
    return _uv.Uv(_pinned_uv(python), variables, _uv.constrained(listing))


def _pinned_uv(python: str) -> str:
    """Return the path of the pinned uv, installed by the pip of *python* if need be."""
    folder = _uv_home() / "program"
    mine = str(program(folder, "uv"))
    pinned = re.findall(r"(?m)^uv==(\S+)", lock("uv").read_text(encoding="utf-8"))
    if (_version(mine) or "").split()[1:2] != pinned:
        _remove(folder)
        venv = [python, "-m", "venv", "--without-pip", str(folder)]
        run("making .venv-uv", venv)
        _install_uv([python, "-m", "pip", "--python", str(program(folder, "python"))])
    return mine


def uv(python: str) -> _uv.Uv | None:
    """Return the uv to use in place of the pip of *python*, None where pip must do.

    Raises:
        MismatchError: What pip fetched is another uv than the pinned one.
    """
    try:
        with _locked():
            return _own_uv(python)
    except (CommandError, OSError):
        return None


# Making the scripts' own environment


def _make_with_any(folder: Path) -> Python:
    """Make *folder* with the best interpreter that can, and return that one.

    Raises:
        SetupError: None can, and uv could not fetch one.
    """
    makers = []
    obstacles: list[str] = []
    broken: list[str] = []
    for python in pythons(broken):
        if python.makes_environments:
            makers.append(python)
        if not python.fits:
            continue
        if not python.makes_environments:
            obstacles.append(_lacks(python))
            continue
        say(f"llm_normalize: Python {python.name} ({python.path})")
        try:
            _make(folder, python)
        except CommandError as error:
            obstacles.append(f"{python.path}: {''.join(error.lines[-1:])}")
            continue
        return python
    say("llm_normalize: no Python 3.12 or newer here is of use, so uv is to fetch one")
    try:
        python = _fetch(makers)
        _make(folder, python)
    except SetupError as error:
        tail = "".join(getattr(error, "lines", ())[-1:]).strip()
        obstacles.append(f"uv: {error} ({tail[:120]})" if tail else f"uv: {error}")
    else:
        return python
    obstacles += [f"{name} does not start" for name in broken]
    raise SetupError(
        "no Python 3.12 or newer is at hand and none could be fetched: install one "
        f"(package manager, pyenv or python.org) or name it in {FORCED} "
        f"[{'; '.join(obstacles)}]."
    )


def _install(folder: Path, names: Sequence[str]) -> None:
    inner = str(program(folder, "python"))
    title = "installing mitmproxy"
    more = {}
    if names == RUNTIME:
        more["UV_NO_CACHE"] = "1"  # who only uses it installs it once
    else:
        title += " and what the work on it needs"
    try:
        uv = _own_uv(inner)
        if uv is not None and uv.may_install(*map(lock, names)):
            command = uv.command(inner, exactly(*names))
            install(f"{title} with uv", command, **{**uv.variables, **more})
            return
    except (CommandError, OSError) as error:
        why = "".join(getattr(error, "lines", ())[-1:]) or str(error)
        say(f"    {why}\n  So pip does it.")
    title += " (a minute or so, the first time)"
    pip = [inner, "-m", "pip", "install", "--retries", "2", *exactly(*names)]
    try:
        install(title, pip)
    except CommandError as error:
        raise CommandError(
            f"pip could not fill {folder.name}, its last lines stand above. If a package "
            "has no wheel for this system: nothing is built here, so load the addon in a "
            "mitmproxy of your own (mitmdump -s addon/normalize.py). If not: is there a "
            "network (behind a proxy, is HTTPS_PROXY set)? Then start again.",
            error.lines,
        ) from error


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


def _digests(names: Sequence[str]) -> dict[str, str]:
    """Return a hash of each of these sets, and of those that they hold."""
    more = [each for name in names for each in WITHIN.get(name, ())]
    return {
        each: hashlib.sha256(lock(each).read_bytes()).hexdigest()
        for each in (*names, *more)
    }


def _held(stamp: dict[str, Any]) -> dict[str, str]:
    """Return the sets that an environment holds, with the hash of each."""
    held = stamp.get("holds")
    return dict(held) if isinstance(held, dict) else {}


def _read_stamp(folder: Path, python: Python | None) -> dict[str, Any]:
    """Return the stamp in *folder*, empty if it has to be made anew.

    That is: no stamp, moved, its interpreter gone or another one, or not *python*.
    """
    try:
        stamp = json.loads((folder / STAMP).read_text(encoding="utf-8"))
        link = program(folder, "python").resolve(strict=True)
        wanted = {"folder": str(folder), "link": str(link)}
        if python is not None:
            wanted.update(base=python.base, version=python.name)
        kept = all(stamp[name] == value for name, value in wanted.items())
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    return dict(stamp) if kept else {}


def environment(
    tag: str = "", python: Python | None = None, names: Sequence[str] = DEVELOPMENT
) -> Path:
    """Return the python of an environment, which is made or completed if need be.

    Args:
        tag: "" for `.venv`, which everything uses; else `.venv-<tag>`.
        python: The interpreter to build on; the best at hand if None.
        names: The locks whose packages it has to hold; what else it holds stays.

    Raises:
        SetupError: It cannot be made.
        OSError: The project's folder cannot be written to.
    """
    folder = ROOT / (f".venv-{tag}" if tag else ".venv")
    digests = _digests(names)
    if digests.items() <= _held(_read_stamp(folder, python)).items():
        return program(folder, "python")
    with _locked():
        stamp = _read_stamp(folder, python)  # another start may have made it
        held = _held(stamp)
        if digests.items() <= held.items():
            return program(folder, "python")
        if stamp:
            # Completed in place: someone's mitmdump may be running in it.
            why = "other packages are pinned now, updating"
            if held and not digests.keys() <= held.keys():
                why = f"adding the packages for {' and '.join(names)} to"
            say(f"llm_normalize: {why} {folder.name}")
            (folder / STAMP).unlink()
        else:
            if python is None:
                python = _make_with_any(folder)
            else:
                say(f"llm_normalize: Python {python.name} ({python.path})")
                _make(folder, python)
            link = str(program(folder, "python").resolve(strict=True))
            stamp = {"folder": str(folder), "link": link}
            stamp.update(base=python.base, version=python.name)
        _install(folder, names)
        text = json.dumps({**stamp, "holds": {**held, **digests}}, indent=1)
        (folder / STAMP).write_text(text, encoding="utf-8")
    return program(folder, "python")


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
    if WINDOWS:  # its execv returns to the shell at once
        try:
            sys.exit(wait_for(command))
        except KeyboardInterrupt:
            sys.exit(130)
    os.execv(command[0], list(command))  # noqa: S606 - no shell wanted


def _enter(names: Sequence[str]) -> None:
    restarted = os.environ.pop(RESTARTED, None)
    python = environment(python=forced_python(), names=names)
    folder = python.parent.parent
    running = ".".join(str(number) for number in sys.version_info[:3])
    inside = Path(sys.prefix).resolve() == folder.resolve()
    if inside and running == _read_stamp(folder, None).get("version"):
        return
    if restarted:
        raise SetupError(f"{folder} is broken: remove that folder and start again.")
    os.environ[RESTARTED] = "1"
    become([str(python), str(Path(sys.argv[0]).resolve()), *sys.argv[1:]])


def ensure(names: Sequence[str] = DEVELOPMENT) -> None:
    """Return in `.venv`: made if need be, the script restarted in it if need be.

    Ends the process with a sentence on stderr and code 1 if it cannot be made.

    Args:
        names: The locks whose packages the script needs there.
    """
    try:
        _enter(names)
    except SetupError as error:
        for line in getattr(error, "lines", ()):
            say("    " + line)
        say(f"llm_normalize: {error}")
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
