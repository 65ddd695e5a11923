"""uv gets the settings of pip, and is the one on the PATH or the pinned one."""

import os
import re
import sys
from pathlib import Path

import pytest

import _uv
from launchers import executable

PIN = "uv==0.13.9 \\\n    --hash=sha256:00\n"

pytestmark = pytest.mark.skipif(
    os.name == "nt", reason="stands in for uv with a shell script"
)


def variables(*lines: str) -> dict[str, str]:
    return _uv.settings("\n".join(lines))[1]


@pytest.mark.parametrize(
    ("line", "handed"),
    [
        ("global.index-url='https://host/simple'", {"UV_DEFAULT_INDEX": "https://host/simple"}),
        ("install.trusted-host='a b:81'", {"UV_INSECURE_HOST": "a b:81"}),
        ("global.cert='/ca.pem'", {"SSL_CERT_FILE": "/ca.pem"}),
        ("global.proxy='http://proxy:3128'", {"ALL_PROXY": "http://proxy:3128"}),
        ("global.find-links='/a\\n/b'", {"UV_FIND_LINKS": "/a,/b"}),
        ("global.extra-index-url='\\nhttps://a/simple\\nhttps://b/simple'", {}),
        ("global.index-url='https://a'\n:env:.index-url=''", {"UV_DEFAULT_INDEX": "https://a"}),
        (":env:.default-timeout='180'", {"UV_HTTP_TIMEOUT": "180"}),
        ("global.timeout='7.5'", {}),
        ("global.no-cache-dir='1'", {}),
        ("download.index-url='https://of.another.command'", {}),
        ("WARNING: pip says something else", {}),
    ],
)  # fmt: skip
def test_setting_of_pip_is_handed_on(line: str, handed: dict[str, str]) -> None:
    assert variables(line) == handed


def test_pip_lists_its_settings_in_the_form_that_is_read(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in list(os.environ):
        if name.startswith("PIP_"):
            monkeypatch.delenv(name)
    config = tmp_path / "pip.conf"
    config.write_text("[install]\ncert = /it's/ca.pem\n")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(config))
    monkeypatch.setenv("PIP_INDEX_URL", "https://joe:secret@host/simple")
    monkeypatch.setenv("HOME", str(tmp_path))
    listing = _uv.answer(*_uv.pip(), "config", "list")
    # What the machine itself sets for all users is listed, too.
    ours = re.compile(r"[\w:]+\.(index-url|cert)=")
    assert variables(*filter(ours.match, listing.splitlines())) == {
        "UV_DEFAULT_INDEX": "https://joe:secret@host/simple",
        "SSL_CERT_FILE": "/it's/ca.pem",
    }


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("at https://joe:secret@host/simple/", "at https://****@host/simple/"),
        ("at https://token@host:81", "at https://****@host:81"),
        ("at https://joe:sec@ret@host", "at https://****@host"),
        ("at https://host/@scope/a@1", "at https://host/@scope/a@1"),
        ("a@b://c d@e", "a@b://c d@e"),
    ],
)
def test_credentials_are_masked(text: str, shown: str) -> None:
    assert _uv.masked(text) == shown


# Which uv


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with a pip that writes down what it is asked, and installs uv."""
    target = 'target=$(echo "$*" | sed "s/.*--target \\([^ ]*\\).*/\\1/")'
    executable(
        tmp_path / "python",
        f'echo "$*" >> {tmp_path}/asked',
        """case "$*" in *config*) echo "global.index-url='https://host'";; *install*)""",
        f"  {target}; mkdir -p $target/bin",
        """  printf '#!/bin/sh\\necho uv 0.13.9\\n' > $target/bin/uv; chmod +x $target/bin/uv""",
        ";; *) echo pip;; esac",
    )
    monkeypatch.setattr(sys, "_base_executable", str(tmp_path / "python"))
    monkeypatch.setattr(sys, "base_prefix", str(tmp_path / "nowhere"))
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("PYENV_ROOT", raising=False)
    (tmp_path / "bin").mkdir()
    return tmp_path


def asked(machine: Path) -> str:
    return (machine / "asked").read_text(encoding="utf-8")


def test_pip_installs_the_pinned_uv_once(machine: Path) -> None:
    home = machine / "home"
    for _ in range(2):
        uv = _uv.find(home, PIN)
        assert uv.path == str(home / "program" / "bin" / "uv")
        assert uv.variables["UV_DEFAULT_INDEX"] == "https://host"
        assert uv.variables["UV_CACHE_DIR"] == str(home / "cache")
        assert uv.variables["UV_PYTHON_INSTALL_DIR"] == str(home / "pythons")
    assert asked(machine).count("pip install") == 1
    assert "--no-deps --require-hashes --only-binary :all:" in asked(machine)
    assert (home / "requirements.txt").read_text(encoding="utf-8") == PIN


def test_uv_on_the_path_is_taken_with_its_own_folders(machine: Path) -> None:
    own = executable(machine / "bin" / "uv", "echo uv 0.20.1 '(of a day)'")
    uv = _uv.find(machine / "home", PIN)
    assert uv.path == str(own)
    assert uv.variables["UV_DEFAULT_INDEX"] == "https://host"
    assert "UV_CACHE_DIR" not in uv.variables
    assert "pip install" not in asked(machine)


@pytest.mark.parametrize("says", ["echo uv 0.1.0", "exit 127"])
def test_uv_on_the_path_that_is_of_no_use_is_not_taken(
    machine: Path, says: str
) -> None:
    executable(machine / "bin" / "uv", says)
    assert _uv.find(machine / "home", PIN).path.startswith(str(machine / "home"))


def test_machine_without_uv_and_pip_says_so(machine: Path) -> None:
    executable(machine / "python", "exit 1")
    executable(machine / "bin" / "python3", "exit 1")
    executable(machine / "bin" / "python", "exit 1")
    # Nothing of the machine's own.
    os.environ["PATH"] = str(machine / "bin")
    with pytest.raises(_uv.CommandError, match="no pip to install uv with"):
        _uv.find(machine / "home", PIN)


# Steps


def failed(code: str) -> _uv.SetupError:
    with pytest.raises(_uv.SetupError) as caught:
        _uv.run("asking", [sys.executable, "-c", code])
    return caught.value


def test_failed_step_tells_no_credentials() -> None:
    error = failed("raise SystemExit('none at https://joe:pass@word@host/simple')")
    assert error.lines == ["none at https://****@host/simple"]


def test_settings_that_lead_pip_astray_are_not_handed_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PYTHONPATH", "/elsewhere")
    monkeypatch.setenv("PIP_USER", "1")
    monkeypatch.setenv("UV_SYSTEM_PYTHON", "1")
    handed = _uv.clean(EXTRA="yes")
    assert not {"PYTHONPATH", "UV_SYSTEM_PYTHON"} & {*handed}
    assert (handed["PIP_USER"], handed["EXTRA"]) == ("0", "yes")


# What pip and uv say of another file, with more hashes than an error shows
BY_UV = [
    "error: Failed to download `one==1`",
    "  cause: Hash mismatch for `one==1`",
    "         Expected:",
    *["           sha256:00"] * 40,
]
BY_PIP = [
    "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE. If you",
    "    one==1 from file:///one-1.whl (from -r development.txt (line 1)):",
    *["        Expected     or 00"] * 40,
]
UNHASHED_BY_UV = [
    "error: In `--require-hashes` mode, all requirements must have a hash, but none"
]
UNHASHED_BY_PIP = ["ERROR: Hashes are required in --require-hashes mode, but they"]


@pytest.mark.parametrize("said", [BY_UV, BY_PIP, UNHASHED_BY_UV, UNHASHED_BY_PIP])
def test_another_hash_is_distinguished_from_other_failures(said: list[str]) -> None:
    error = failed(f"print({chr(10).join(said)!r}); raise SystemExit(1)")
    assert isinstance(error, _uv.MismatchError)
    assert "PIP_INDEX_URL" in str(error)
    assert all("one==1" in line for line in error.lines)
    other = failed("raise SystemExit('ERROR: No matching distribution for one==1')")
    assert isinstance(other, _uv.CommandError)
