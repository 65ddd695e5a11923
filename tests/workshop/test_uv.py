"""uv gets the settings of pip, and pip stays what always works: nothing is installed."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from launchers import load

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
OWN = {
    "UV_CACHE_DIR": "cache",
    "UV_HTTP_RETRIES": "2",
    "UV_INDEX_STRATEGY": "first-index",
    "UV_SYSTEM_CERTS": "1",
}

pytestmark = pytest.mark.skipif(
    os.name == "nt", reason="stands in for uv with a shell script"
)


def reported(*lines: str) -> dict[str, str] | None:
    found: dict[str, str] | None = load("_uv").variables_for("\n".join(lines), "cache")
    return found


# What uv is told


@pytest.mark.parametrize(
    ("line", "more"),
    [
        ("global.index-url='https://host/simple'", {"UV_DEFAULT_INDEX": "https://host/simple"}),
        ("install.trusted-host='a b:81'", {"UV_INSECURE_HOST": "a b:81"}),
        ("global.cert='/some where/ca.pem'", {"SSL_CERT_FILE": "/some where/ca.pem"}),
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
def test_setting_of_pip_is_handed_on(line: str, more: dict[str, str]) -> None:
    assert reported(line) == {**OWN, **more}


def test_extra_index_is_reported_and_tells_no_credentials() -> None:
    lines = load("_uv").extra_indexes(
        "global.extra-index-url='https://joe:secret@a/simple'",
        {"UV_INDEX": "https://joe:secret@b", "UV_EXTRA_INDEX_URL": "https://c"},
    )
    assert [line.partition("),")[0].partition("):")[0] for line in lines] == [
        "pip's extra index (https://****@a/simple",
        "UV_INDEX (https://****@b",
        "UV_EXTRA_INDEX_URL (https://c",
    ]
    assert all("must have the hash that is pinned" in line for line in lines)
    assert load("_uv").extra_indexes("global.index-url='https://a'", {}) == []


@pytest.mark.parametrize("name", ["no-index", "proxy", "not-known-yet"])
def test_setting_that_cannot_be_handed_on_is_left_to_pip(name: str) -> None:
    assert reported("global.index-url='https://host'", f":env:.{name}='1'") is None


@pytest.mark.parametrize(
    ("limits", "served"),
    [
        ("", True),
        ("# torch is here\n\nTorch_Vision[a, b] <2 # o-n-e==1\n", True),
        ("one==1 \\\n    --hash=sha256:00\nthree ; python_version < '3'\n", True),
        ("torch<2\nO.n_e<3\n", False),
        ("# a comment that goes on? \\\no-n-e<2\n", False),
        ("-c another.txt\n", False),
        ("https://host/o_n_e-1-py3-none-any.whl\n", False),
        ("wheels/o_n_e-1-py3-none-any.whl\n", False),
        ("o_n_e-1-py3-none-any.whl\n", False),
        ("\xff", False),
        (None, False),
    ],
)
def test_lock_is_left_to_pip_where_a_constraint_may_say_something_of_it(
    limits: str | None, served: bool, tmp_path: Path
) -> None:
    lock = tmp_path / "lock.txt"
    lock.write_text("o-n-e==1 \\\n    --hash=sha256:00\ntwo==2\n")
    first, second = tmp_path / "first.txt", tmp_path / "second.txt"
    first.write_text("torch<3\n")
    if limits is not None:
        second.write_bytes(limits.encode("latin-1"))
    module = load("_uv")
    found = module.constrained(f"global.constraint='{first}\\n{second}'")
    assert module.Uv("uv", {}, found).may_install(lock) == served
    assert module.Uv("uv", {}, module.constrained("")).may_install(lock)
    lock.write_text("--index-url https://host\ntwo==2\n")
    assert not module.Uv("uv", {}, frozenset({"one"})).may_install(lock)


@pytest.mark.parametrize("turn", [1, -1])
def test_later_place_of_a_setting_wins_as_with_pip(turn: int) -> None:
    lines = [
        f"{section}.index-url='https://{section.strip(':')}'"
        for section in (":env:", "install", "global")[::turn]
    ]
    assert (reported(*lines) or {})["UV_DEFAULT_INDEX"] == "https://env"
    lines = [line for line in lines if ":env:" not in line]
    assert (reported(*lines) or {})["UV_DEFAULT_INDEX"] == "https://install"


def test_pip_lists_its_settings_in_the_form_that_is_read(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in list(os.environ):
        if name.startswith("PIP_"):
            monkeypatch.delenv(name)
    config = tmp_path / "pip.conf"
    config.write_text(
        "[global]\nextra_index_url = https://a\n  https://b\n"
        "[install]\ncert = /it's/ca.pem\n"
    )
    monkeypatch.setenv("PIP_CONFIG_FILE", str(config))
    monkeypatch.setenv("PIP_INDEX_URL", "https://joe:secret@host/simple")
    listing = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"],
        env=load("_bootstrap")._clean(HOME=str(tmp_path)),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    ).stdout
    # What the machine itself sets for all users is listed, too.
    ours = re.compile(r"[\w:]+\.(index-url|extra-index-url|cert)=")
    listing = "\n".join(filter(ours.match, listing.splitlines()))
    found = reported(listing) or {}
    assert found["UV_DEFAULT_INDEX"] == "https://joe:secret@host/simple"
    assert not any("https://a" in value for value in found.values())
    (line,) = load("_uv").extra_indexes(listing, {})
    assert line.startswith(
        "pip's extra index (https://a https://b): uv does not ask it"
    )
    assert found["SSL_CERT_FILE"] == "/it's/ca.pem"


def test_command_shows_no_setting() -> None:
    uv = load("_uv").Uv(
        "uv", {"UV_DEFAULT_INDEX": "https://joe:secret@host"}, frozenset()
    )
    command = uv.command("python", ["--no-deps", "one==1"])
    assert command[-5:] == ["install", "--python", "python", "--no-deps", "one==1"]
    assert not any("secret" in word for word in command)


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
    assert load("_uv").masked(text) == shown


# When pip does it


def asks_for_uv(command: list[str]) -> bool:
    return Path(command[-1]).name == "uv.txt"


class Steps:
    """Stands in for `run`: makes what the steps would, keeps what was asked."""

    def __init__(self, home: Path, version: str) -> None:
        self.uv = home / "program" / "bin" / "uv"
        self.version = version
        self.commands: list[list[str]] = []
        self.reported: dict[str, str] = {}
        self.settings = ""
        self.said = ["error: it broke"]
        self.fails: Callable[[list[str]], bool] = lambda _command: False

    def __call__(self, title: str, command: list[str], **more: str) -> str:
        self.commands.append(command)
        if self.fails(command):
            raise load("_bootstrap").CommandError(title, self.said[-12:], self.said)
        if command[0] == str(self.uv):
            self.reported = more
        if "venv" in command:
            (Path(command[-1]) / "bin").mkdir(parents=True)
            (Path(command[-1]) / "bin" / "python").symlink_to(sys.executable)
        if asks_for_uv(command):
            self.put(self.version)
        return self.settings if "config" in command else ""

    def put(self, version: str) -> None:
        self.uv.parent.mkdir(parents=True, exist_ok=True)
        self.uv.write_text(f"#!/bin/sh\necho 'uv {version} (of a day)'\n")
        self.uv.chmod(0o755)

    def fillers(self) -> list[str]:
        """Return who was asked to install something, and what came last."""
        return [
            f"{Path(command[0]).name} {Path(command[-1]).name}"
            for command in self.commands
            if "install" in command
        ]


@pytest.fixture
def steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Steps:
    venv = load("_bootstrap")
    monkeypatch.setattr(venv, "ROOT", tmp_path)
    shutil.copytree(SCRIPTS / "requirements", tmp_path / "scripts" / "requirements")
    (pinned,) = re.findall(r"(?m)^uv==(\S+)", venv.lock("uv").read_text())
    fake = Steps(tmp_path / ".venv-uv", pinned)
    monkeypatch.setattr(venv, "run", fake)
    return fake


PINNED = "python uv.txt"


def fill() -> None:
    venv = load("_bootstrap")
    venv.environment("of-this-test", venv.probe([sys.executable]))


def test_uv_is_installed_and_fills_the_environment(steps: Steps) -> None:
    steps.settings = "global.index-url='https://joe:secret@host'"
    fill()
    assert steps.fillers() == [PINNED, "uv development.txt"]
    assert steps.reported["UV_DEFAULT_INDEX"] == "https://joe:secret@host"
    assert steps.reported["UV_CACHE_DIR"] == str(
        load("_bootstrap").ROOT / ".venv-uv" / "cache"
    )


@pytest.mark.parametrize(
    ("name", "by"), [("no-package-of-ours", "uv"), ("mitmproxy", "python")]
)
def test_pip_fills_it_where_a_constraint_names_what_is_pinned(
    name: str, by: str, steps: Steps, tmp_path: Path
) -> None:
    steps.put(steps.version)
    limits = tmp_path / "limits.txt"
    limits.write_text(f"{name}<1000\n")
    steps.settings = f"global.constraint='{limits}'"
    fill()
    assert steps.fillers() == [f"{by} development.txt"]


def test_uv_that_is_there_is_not_installed_again(steps: Steps) -> None:
    steps.put(steps.version)
    fill()
    assert steps.fillers() == ["uv development.txt"]


def test_uv_of_another_version_is_replaced_and_what_it_fetched_stays(
    steps: Steps,
) -> None:
    steps.put("0.0.1")
    fetched = load("_bootstrap").ROOT / ".venv-uv" / "pythons" / "one"
    fetched.mkdir(parents=True)
    fill()
    assert steps.fillers() == [PINNED, "uv development.txt"]
    assert fetched.exists()


def test_pip_fills_it_where_uv_cannot_be_had(
    steps: Steps, capsys: pytest.CaptureFixture[str]
) -> None:
    steps.fails = asks_for_uv
    fill()
    assert steps.fillers() == [PINNED, "python development.txt"]
    assert "error: it broke\n  So pip does it.\n" in capsys.readouterr().err


def test_pip_fills_it_where_uv_fails(
    steps: Steps, capsys: pytest.CaptureFixture[str]
) -> None:
    steps.put(steps.version)
    steps.fails = lambda command: command[0] == str(steps.uv)
    fill()
    assert steps.fillers() == ["uv development.txt", "python development.txt"]
    assert "error: it broke\n  So pip does it.\n" in capsys.readouterr().err


def test_pip_fills_it_where_uv_has_no_place(
    steps: Steps, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(_folder: Path) -> None:
        raise PermissionError(13, "Permission denied")

    venv = load("_bootstrap")
    monkeypatch.setattr(
        venv, "_make", lambda folder, _python: steps("", ["venv", str(folder)])
    )
    monkeypatch.setattr(venv, "_remove", refused)
    fill()
    assert steps.fillers() == ["python development.txt"]


def test_pip_fills_it_where_uv_cannot_be_told_everything(steps: Steps) -> None:
    steps.settings = "global.no-index='true'"
    fill()
    assert steps.fillers() == ["python development.txt"]


def test_others_get_uv_or_nothing(steps: Steps) -> None:
    uv = load("_bootstrap").uv(sys.executable)
    assert uv.path == str(steps.uv)
    steps.fails = lambda command: "config" in command
    assert load("_bootstrap").uv(sys.executable) is None


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


@pytest.mark.parametrize(
    ("said", "package"),
    [
        (BY_UV, "one==1"),
        (BY_PIP, "one==1"),
        (UNHASHED_BY_UV, "a package"),
        (UNHASHED_BY_PIP, "a package"),
        (["ERROR: No matching distribution found for one==1"], None),
        ([], None),
    ],
)
def test_another_hash_is_distinguished_from_other_failures(
    said: list[str], package: str | None
) -> None:
    assert load("_uv").mismatch(said) == package


@pytest.mark.parametrize(
    ("setting", "said", "lock", "asked"),
    [
        ("", BY_PIP, "uv", [PINNED]),
        ("", BY_UV, "development", [PINNED, "uv development.txt"]),
        ("global.no-index='1'", BY_PIP, "development", ["python development.txt"]),
    ],
)
def test_another_hash_ends_it_and_no_other_program_tries(
    steps: Steps, setting: str, said: list[str], lock: str, asked: list[str]
) -> None:
    venv = load("_bootstrap")
    steps.settings = setting
    steps.said = said
    steps.fails = lambda command: Path(command[-1]).name == f"{lock}.txt"
    with pytest.raises(venv.MismatchError) as caught:
        fill()
    assert steps.fillers() == asked
    assert str(caught.value).startswith("one==1 is not what was reviewed")
    for part in (str(venv.lock(lock)), "Take back changes", "PIP_INDEX_URL"):
        assert part in str(caught.value)


def test_other_programs_get_no_uv_that_nobody_reviewed(steps: Steps) -> None:
    steps.said = BY_PIP
    steps.fails = asks_for_uv
    with pytest.raises(load("_bootstrap").MismatchError):
        load("_bootstrap").uv(sys.executable)


def test_only_what_is_pinned_is_installed_and_nothing_built(steps: Steps) -> None:
    fill()
    for command in steps.commands:
        if "install" in command:
            flags = {"--no-deps", "--require-hashes", "--only-binary"}
            assert flags <= set(command)
            assert command[command.index("--only-binary") + 1] == ":all:"
