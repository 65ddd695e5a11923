"""Environments are filled from where pip is told to look."""

import base64
import hashlib
import io
import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import _bootstrap
import _uv
import environments
from script_runs import ended
from support import LOOPBACK, Provider, Request, Script, body_script

NAME = "made_up-1.0-py3-none-any.whl"


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
        self.wheel = wheel()
        super().__init__(answer=self._answered)
        self.url = f"http://joe:secret-word@{LOOPBACK}:{self.port}/simple"

    @property
    def asked(self) -> list[str]:
        return [each.path for each in self.requests]

    def _answered(self, request: Request) -> Script:
        login = base64.b64encode(b"joe:secret-word").decode()
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
    command = [str(environments.python_in(folder)), "-c", code]
    return ended(command, check=True).stdout.strip()


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
