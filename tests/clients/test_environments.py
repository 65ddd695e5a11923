"""Environments are filled from where pip is told to look, and go when out of use."""

import base64
import hashlib
import io
import os
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import _bootstrap
import _uv
import environments
from clients import programs, servers
from support import LOOPBACK, Provider, Request, Script, body_script

NAME = "made_up-1.0-py3-none-any.whl"
TWO_DAYS = 2 * 24 * 3600


def wheel(words: str = "from the index") -> bytes:
    info = "made_up-1.0.dist-info"
    files = {
        "made_up.py": f"WORDS = {words!r}\n",
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: made-up\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: a test\n"
        "Root-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = f"{info}/RECORD"
    files[record] = "".join(f"{name},,\n" for name in (*files, record))
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return packed.getvalue()


class Index(Provider):
    """A package index that serves one package to joe, and to nobody else."""

    def __init__(self) -> None:
        self.password = "secret-word"
        self.wheel = wheel()
        super().__init__(answer=self._answered)
        self.url = f"http://joe:secret-word@{LOOPBACK}:{self.port}/simple"

    @property
    def asked(self) -> list[str]:
        return [each.path for each in self.requests]

    def _answered(self, request: Request) -> Script:
        login = base64.b64encode(f"joe:{self.password}".encode()).decode()
        if request.headers.get("authorization") != f"Basic {login}":
            wants = 'Basic realm="packages"'
            return body_script(b"", 401, "text/plain", www_authenticate=wants)
        if request.path == "/simple/made-up/":
            digest = hashlib.sha256(self.wheel).hexdigest()
            link = f'<a href="/files/{NAME}#sha256={digest}">{NAME}</a>'
            return body_script(link.encode(), content_type="text/html")
        if request.path == f"/files/{NAME}":
            return body_script(self.wheel, content_type="application/octet-stream")
        return body_script(b"", 404, "text/plain")


@pytest.fixture(scope="module", autouse=True)
def _own_uv() -> None:
    """Install uv while the machine's own settings count: the index here does not have it."""
    with _bootstrap._locked():
        _bootstrap.uv()


@pytest.fixture
def index(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Index]:
    """A package index that pip is told of, and a machine that is told nothing else."""
    with Index() as serving:
        for name in [*os.environ, *environments.AT_START]:
            if name.startswith(("PIP_", "UV_")) or name.lower().endswith("_proxy"):
                monkeypatch.delenv(name, raising=False)
                monkeypatch.delitem(environments.AT_START, name, raising=False)
        settings = {
            "HOME": str(tmp_path),
            "NO_PROXY": "*",
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_INDEX_URL": serving.url,
        }
        for name, value in settings.items():
            monkeypatch.setenv(name, value)
            monkeypatch.setitem(environments.AT_START, name, value)
        monkeypatch.setattr(environments, "CACHE", tmp_path / "clients")
        monkeypatch.setattr(environments, "NOTES", [])
        yield serving


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    written = tmp_path / "requirements.txt"
    written.write_text("# one\nmade-up==1.0\n")
    return written


def uv_there(tmp_path: Path) -> _uv.Uv:
    """Return uv, told of the index, with a cache of its own."""
    uv = _bootstrap.uv()
    return uv._replace(
        variables={**uv.variables, "UV_CACHE_DIR": str(tmp_path / "cache")}
    )


def imported(folder: Path) -> str:
    code = "import made_up; print(made_up.WORDS)"
    done = subprocess.run(
        [str(environments.python_in(folder)), "-c", code],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


@pytest.mark.parametrize("by", ["uv", "pip"])
def test_environment_is_filled_from_the_index_that_pip_uses(
    index: Index,
    lock: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    by: str,
) -> None:
    uv = uv_there(tmp_path) if by == "uv" else None
    monkeypatch.setattr(environments, "uv_at_hand", lambda: uv)
    folder = environments.CACHE / "one"
    environments.make_python(folder, lock)
    assert imported(folder) == "from the index"
    assert f"/files/{NAME}" in index.asked
    assert [folder] == list(environments.CACHE.iterdir())
    assert (tmp_path / "cache").exists() == (by == "uv")
    assert len(environments.NOTES) == 1


def test_what_is_made_already_is_not_asked_for(
    index: Index, lock: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(environments, "uv_at_hand", lambda: None)
    environments.make_python(environments.CACHE / "one", lock)
    index.requests.clear()
    environments.make_python(environments.CACHE / "one", lock)
    assert index.asked == []


@pytest.mark.parametrize("by", ["uv", "pip"])
def test_environment_that_cannot_be_filled_tells_no_password(
    index: Index,
    lock: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    by: str,
) -> None:
    uv = uv_there(tmp_path) if by == "uv" else None
    monkeypatch.setattr(environments, "uv_at_hand", lambda: uv)
    index.password = "another"
    with pytest.raises(environments.EnvironmentLackingError) as caught:
        environments.make_python(environments.CACHE / "one", lock)
    assert index.asked
    assert "filling it with pip failed" in str(caught.value)
    assert "secret-word" not in "".join([str(caught.value), *environments.NOTES])
    assert any("so pip is to do it" in note for note in environments.NOTES) == (
        by == "uv"
    )
    assert list(environments.CACHE.iterdir()) == []


def test_error_that_quotes_a_password_is_masked() -> None:
    code = "raise SystemExit('https://joe:secret-word@host/ says no')"
    with pytest.raises(environments.EnvironmentLackingError) as caught:
        environments.run("asking", sys.executable, "-c", code)
    assert str(caught.value) == "asking failed: https://****@host/ says no"


def filled(folder: Path, by: str, lock: Path, tmp_path: Path) -> Path:
    """Have the scripts fill a new environment with what *lock* pins."""
    base = getattr(sys, "_base_executable", sys.executable)
    subprocess.run([base, "-m", "venv", str(folder)], check=True)
    uv = uv_there(tmp_path) if by == "uv" else None
    _bootstrap.fill(folder, lock, "installing", uv)
    return folder


def pinned(path: Path, of: bytes) -> Path:
    path.write_text(f"made-up==1.0 --hash=sha256:{hashlib.sha256(of).hexdigest()}\n")
    return path


@pytest.mark.parametrize("by", ["uv", "pip"])
def test_file_with_another_hash_is_not_installed(
    index: Index, lock: Path, tmp_path: Path, by: str
) -> None:
    pinned(lock, wheel("reviewed"))
    with pytest.raises(_uv.MismatchError) as caught:
        filled(tmp_path / "one", by, lock, tmp_path)
    assert "a package is not what was reviewed" in str(caught.value)
    assert any("made-up==1.0" in line for line in caught.value.lines)
    assert "secret-word" not in "".join([str(caught.value), *caught.value.lines])
    assert f"/files/{NAME}" in index.asked
    assert not list((tmp_path / "one").rglob("made_up*"))


@pytest.mark.usefixtures("index")
@pytest.mark.parametrize("by", ["uv", "pip"])
def test_file_without_a_hash_is_not_installed(
    lock: Path, tmp_path: Path, by: str
) -> None:
    with pytest.raises(_uv.MismatchError, match="not what was reviewed"):
        filled(tmp_path / "one", by, lock, tmp_path)
    assert not list((tmp_path / "one").rglob("made_up*"))


@pytest.mark.parametrize("by", ["uv", "pip"])
def test_package_of_the_same_name_in_an_extra_index_is_not_preferred(
    index: Index,
    lock: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    by: str,
) -> None:
    pinned(lock, index.wheel)
    with Index() as extra:
        extra.wheel = wheel("from somebody else")
        monkeypatch.setenv("PIP_EXTRA_INDEX_URL", extra.url)
        folder = filled(tmp_path / "one", by, lock, tmp_path)
        assert bool(extra.asked) == (by == "pip")
    assert imported(folder) == "from the index"


# To pip it then looks as if the package were there.
HALF = """
cd "$(dirname "$7")"/../lib/python*/site-packages
mkdir made_up-1.0.dist-info
printf 'Metadata-Version: 2.1\\nName: made-up\\nVersion: 1.0\\n' \\
  > made_up-1.0.dist-info/METADATA
exit 1
"""


@pytest.mark.parametrize("script", ["exit 1", HALF, 'rm "$7"; exit 1'])
@pytest.mark.skipif(os.name == "nt", reason="stands in for uv with a shell script")
def test_pip_fills_it_anew_where_uv_fails(
    index: Index,
    lock: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    script: str,
) -> None:
    broken = tmp_path / "uv"
    broken.write_text(f"#!/bin/sh\n{script}\n")
    broken.chmod(0o755)
    uv = _uv.Uv(str(broken), (), {})
    monkeypatch.setattr(environments, "uv_at_hand", lambda: uv)
    environments.make_python(environments.CACHE / "one", lock)
    assert imported(environments.CACHE / "one") == "from the index"
    assert "so pip is to do it" in environments.NOTES[0]
    assert index.asked


# Out of use


@pytest.fixture
def old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Makes a folder that was used last two days ago."""
    monkeypatch.setattr(environments, "CACHE", tmp_path)
    monkeypatch.setattr(environments, "NOTES", [])
    monkeypatch.setattr(environments, "uv_at_hand", lambda: None)

    def make(name: str) -> Path:
        folder = tmp_path / name
        folder.mkdir()
        (folder / "file").touch()
        then = time.time() - TWO_DAYS
        os.utime(folder, (then, then))
        return folder

    return make


def test_folder_that_no_lock_names_goes(old: Callable[[str], Path]) -> None:
    named, left, half = old("one-1"), old("one-0"), old("two-1.4711")
    assert sorted(environments.prune({named})) == [left.name, half.name]
    assert list(environments.CACHE.iterdir()) == [named]
    assert len(environments.NOTES) == 2
    assert environments.prune({named}) == []


def test_folder_that_another_run_may_be_using_stays(
    old: Callable[[str], Path],
) -> None:
    other = old("one-0")
    environments.used(other)
    filling = environments.CACHE / "two-1.4711"
    filling.mkdir()
    assert environments.prune(set()) == []
    assert {other, filling} == set(environments.CACHE.iterdir())


def test_folder_that_went_meanwhile_is_no_fault(
    old: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    left = old("one-0")
    rename = Path.rename

    def late(folder: Path, target: Path) -> Path:
        rename(folder, folder.with_name("taken"))
        return rename(folder, target)

    monkeypatch.setattr(Path, "rename", late)
    assert environments.prune(set()) == []
    assert not left.exists()


@pytest.mark.skipif(os.name == "nt", reason="stands in for uv with a shell script")
def test_cache_is_emptied_when_something_went(
    old: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "uv"
    program.write_text('#!/bin/sh\necho "$* $UV_CACHE_DIR" >> "$0.asked"\n')
    program.chmod(0o755)
    monkeypatch.setattr(environments, "CACHE", tmp_path / "clients")
    environments.CACHE.mkdir()
    uv = _uv.Uv(str(program), (), {"UV_CACHE_DIR": "here"})
    monkeypatch.setattr(environments, "uv_at_hand", lambda: uv)
    assert environments.prune(set()) == []
    assert not (tmp_path / "uv.asked").exists()
    old("clients/one-0")
    assert environments.prune(set()) == ["one-0"]
    assert (tmp_path / "uv.asked").read_text() == "cache clean here\n"


def test_every_client_names_its_folder() -> None:
    folders = programs.folders()
    assert None not in folders
    wanted = [runner.folder for runner in programs.runners() if runner.folder]
    assert len(folders) == len(set(wanted)) + 1  # and that of Node
    assert folders >= set(wanted)


@pytest.mark.parametrize("name", ["openai_3", "openai_node_7"])
def test_starting_a_client_marks_its_folder(
    old: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(programs, "_node", lambda _least: ("node", ("npm",)))
    runner = next(each for each in programs.runners() if each.name == name)
    assert runner.folder is not None
    folder = old(runner.folder.name)
    python = environments.python_in(folder)
    python.parent.mkdir()
    python.touch()
    then = time.time() - TWO_DAYS
    os.utime(folder, (then, then))
    assert runner.command()[-1].endswith(("openai_3.py", "openai_node_7.mjs"))
    assert environments.prune(set()) == []
    assert folder.exists()


def test_programs_get_what_was_set_when_the_tests_began(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SET_BY_A_TEST", "1")
    assert "SET_BY_A_TEST" not in servers.environment()
    assert "PYTEST_CURRENT_TEST" not in servers.environment()
