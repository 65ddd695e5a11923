"""What is handed out: built twice, installed as deploy.md says, and started."""

import functools
import hashlib
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

import _bootstrap
import _uv
import environments
from desktop.starting import LOCAL, assert_it_repairs, running
from llm_normalize import __version__, cli
from ports import free_port
from script_runs import ended
from support import Provider

ROOT = Path(__file__).parents[2]
NAMES = [
    f"llm_normalize-{__version__}-py3-none-any.whl",
    f"llm_normalize-{__version__}.tar.gz",
    f"llm_normalize-{__version__}.zip",
]


def build(folder: Path, **more: str) -> str:
    script = str(ROOT / "scripts" / "build.py")
    done = ended(
        [sys.executable, script, "-o", str(folder)], env={**os.environ, **more}
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def digests(folder: Path) -> dict[str, str]:
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.iterdir())
    }


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    printed = build(folder)
    for name, digest in digests(folder).items():
        (line,) = [each for each in printed.splitlines() if each.endswith(f"/{name}")]
        assert line.startswith(digest)
        assert f"{(folder / name).stat().st_size:,} bytes" in line
    return folder


def test_everything_is_built_and_a_second_time_alike(
    built: Path, tmp_path: Path
) -> None:
    assert sorted(digests(built)) == NAMES
    build(tmp_path / "again", TZ="Pacific/Auckland")
    assert digests(tmp_path / "again") == digests(built)


def test_wheel_has_the_package_and_its_script_alone(built: Path) -> None:
    with zipfile.ZipFile(built / NAMES[0]) as file:
        names = set(file.namelist())
        script = file.read("llm_normalize/script/normalize.py")
    top = f"llm_normalize-{__version__}"
    manual = f"{top}.data/data/share/man/man1/llm-normalize.1"
    assert {name for name in names if not name.startswith("llm_normalize/")} == {
        manual,
        f"{top}.dist-info/METADATA",
        f"{top}.dist-info/RECORD",
        f"{top}.dist-info/WHEEL",
        f"{top}.dist-info/entry_points.txt",
        f"{top}.dist-info/licenses/LICENSE",
    }
    assert script == (ROOT / "addon" / "normalize.py").read_bytes()
    docs = {path.name for path in (ROOT / "addon" / "docs").iterdir()}
    assert {f"llm_normalize/docs/{name}" for name in docs} <= names
    assert not [name for name in names if "__pycache__" in name]


def test_sdist_and_zip_have_the_docs(built: Path) -> None:
    files = [f"docs/{path.name}" for path in (ROOT / "addon" / "docs").iterdir()]
    with (
        tarfile.open(built / NAMES[1]) as sdist,
        zipfile.ZipFile(built / NAMES[2]) as file,
    ):
        top = f"llm_normalize-{__version__}"
        assert {f"{top}/addon/{name}" for name in files} <= set(sdist.getnames())
        assert {f"{top}/{name}" for name in files} <= set(file.namelist())


def test_wheel_of_the_sdist_is_the_wheel(built: Path, tmp_path: Path) -> None:
    with tarfile.open(built / NAMES[1]) as file:
        file.extractall(tmp_path, filter="data")
    source = tmp_path / f"llm_normalize-{__version__}"
    command = [sys.executable, "-m", "build", "--no-isolation", "--wheel", "-o"]
    with zipfile.ZipFile(built / NAMES[0]) as file:
        expected = {name: file.read(name) for name in file.namelist()}
    subprocess.run(
        [*command, str(tmp_path), str(source)], check=True, capture_output=True
    )
    with zipfile.ZipFile(tmp_path / NAMES[0]) as file:
        assert {name: file.read(name) for name in file.namelist()} == expected


def test_wheel_and_sdist_are_fit_to_be_published(built: Path) -> None:
    lock = Path(__file__).with_name("requirements-release.txt")
    python = str(environments.make_python("release", lock))
    files = [str(built / name) for name in NAMES[:2]]
    run(os.environ, python, "-m", "twine", "check", "--strict", *files)
    run(os.environ, python, "-m", "check_wheel_contents", files[0])


def test_readme_of_the_wheel_leads_nowhere_where_only_the_package_is(
    built: Path,
) -> None:
    with zipfile.ZipFile(built / NAMES[0]) as file:
        info = f"llm_normalize-{__version__}.dist-info/METADATA"
        readme = file.read(info).decode().partition("\n\n")[2]
    links = re.findall(r"\]\(([^)]*)\)", readme)
    assert links
    assert all(link.startswith("https://") for link in links)
    assert "![" not in readme


# -- installed --------------------------------------------------------------------------


@functools.cache
def uv() -> _uv.Uv:
    return _bootstrap.uv()


def environ(home: Path) -> dict[str, str]:
    """Return the variables of a user who has nothing but pip's and uv's settings."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name.startswith(("PIP_", "SSL_")) or name.lower().endswith("_proxy")
    }
    folders = {"HOME": str(home), "UV_TOOL_DIR": str(home / "tools")}
    folders |= {"UV_TOOL_BIN_DIR": str(home / "bin"), "UV_PYTHON": sys.executable}
    path = f"{home / 'bin'}:{Path(uv().path).parent}:/usr/bin:/bin"
    return {**kept, **uv().variables, **folders, "PATH": path}


def run(variables: Mapping[str, str], *command: str) -> str:
    done = ended(command, env=variables)
    assert done.returncode == 0, _uv.masked(done.stdout + done.stderr)
    return done.stdout.strip()


def serves(folder: Path, variables: Mapping[str, str], *command: str) -> str:
    """Start *command*, have a stream repaired by it, and return what it said."""
    port = free_port()
    with Provider() as provider:
        more = ["-p", str(port), "--mode", f"reverse:http://{LOCAL}:{provider.port}"]
        with running([*command, *more], port, folder, variables) as process:
            assert_it_repairs(port, provider)
            listening = Path(f"/proc/{process.pid}/net/tcp").read_text(encoding="utf-8")
    assert f"0100007F:{port:04X}" in listening
    assert f"00000000:{port:04X}" not in listening
    assert (folder / ".mitmproxy" / "normalize" / f"pairs-{port}.jsonl").exists()
    return (folder / "log").read_text(encoding="utf-8")


def test_uv_runs_it_and_installs_it(built: Path, tmp_path: Path) -> None:
    variables, wheel = environ(tmp_path), str(built / NAMES[0])
    command = ["uvx", "--from", wheel, "llm-normalize"]
    said = run(variables, *command, "--version")
    assert said.startswith(f"llm_normalize: {__version__}\n")
    run(variables, "uv", "tool", "install", wheel)
    for tool in cli.TOOLS:
        assert "llm-normalize" in run(variables, "llm-normalize", tool, "--help")
    shown = run(variables, "llm-normalize", "demo")
    assert "what the proxy sent is what OpenAI would have sent" in shown
    assert shown.endswith("  llm-normalize          as a proxy, for any other")
    serves(tmp_path, variables, str(tmp_path / "bin" / "llm-normalize"))


def test_uvx_runs_mitmproxys_own_programs_with_it(built: Path, tmp_path: Path) -> None:
    variables = environ(tmp_path)
    with_it = ["uvx", "--from", "mitmproxy", "--with", str(built / NAMES[0])]
    script = run(variables, *with_it, "python", "-m", "llm_normalize", "--script")
    local = ["--listen-host", LOCAL]
    serves(tmp_path, variables, *with_it, "mitmdump", "-s", script, *local)


def test_pipx_puts_it_beside_mitmproxy(built: Path, tmp_path: Path) -> None:
    lock = Path(__file__).with_name("requirements-pipx.txt")
    variables = environ(tmp_path)
    pipx = [str(environments.make_python("pipx", lock)), "-m", "pipx"]
    run(variables, *pipx, "install", "--python", sys.executable, "mitmproxy")
    run(
        variables, *pipx, "inject", "--include-apps", "mitmproxy", str(built / NAMES[0])
    )
    programs = tmp_path / ".local" / "bin"
    script = run(variables, str(programs / "llm-normalize"), "--script")
    local = ["--listen-host", LOCAL]
    serves(tmp_path, variables, str(programs / "mitmdump"), "-s", script, *local)
