"""The locks fit pyproject.toml, and hold versions and hashes alone."""

import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from launchers import load

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "scripts" / "requirements"
ONE = f"one==1.0 \\\n    --hash=sha256:{'0' * 64}\n"
TWO = f"two==2 ; sys_platform == 'win32' \\\n    --hash=sha256:{'1' * 64} \\\n    --hash=sha256:{'2' * 64}\n"  # fmt: skip


@pytest.fixture
def locks() -> Any:
    return load("workshop.release.locks")


@pytest.fixture
def project(locks: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of what is pinned here."""
    (tmp_path / "scripts").mkdir()
    shutil.copytree(FOLDER, tmp_path / "scripts" / "requirements")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    monkeypatch.setattr(locks._bootstrap, "ROOT", tmp_path)
    return tmp_path


def changed(path: Path, before: str, after: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert before in text
    path.write_text(text.replace(before, after), encoding="utf-8")


def test_locks_here_fit_and_name_no_place(locks: Any) -> None:
    assert {f"{name}.txt" for name in locks.SETS} == {
        path.name for path in FOLDER.iterdir()
    }
    for name in locks.SETS:
        locks.check(name)
        assert "://" not in (FOLDER / f"{name}.txt").read_text(encoding="utf-8")


def test_pins_are_read(locks: Any) -> None:
    assert locks.pins(locks.HEAD + ONE + TWO) == {"one": {"1.0"}, "two": {"2"}}
    assert locks.pins(ONE + ONE.replace("1.0", "1.1")) == {"one": {"1.0", "1.1"}}


@pytest.mark.parametrize(
    "line",
    [
        "--index-url https://host/simple\n",
        "--extra-index-url https://host/simple\n",
        "one==1.0\n",
        "one>=1.0 \\\n    --hash=sha256:" + "0" * 64 + "\n",
        "one @ https://host/one.whl \\\n    --hash=sha256:" + "0" * 64 + "\n",
        "one==1.0 \\\n    --hash=sha256:" + "0" * 63 + "\n",
        "one==1.0 \\\n    --hash=md5:" + "0" * 32 + "\n",
        "-e .\n",
    ],
)
def test_anything_but_versions_and_hashes_is_refused(locks: Any, line: str) -> None:
    for text in (line + ONE, TWO + line, ONE + line + TWO):
        with pytest.raises(locks.Wrong, match="no list of versions and hashes from"):
            locks.pins(text)


@pytest.mark.parametrize(
    ("name", "before", "after", "says"),
    [
        ("development", '"mitmproxy>=12,<13"', '"mitmproxy>=12.9,<13"', "wants mitm"),
        ("runtime", '"mitmproxy>=12,<13"', '"mitmproxy>=12.9,<13"', "wants mitm"),
        ("oldest", '"mitmproxy==12.0.0"', '"mitmproxy==12.0.1"', "12.0.0 where"),
        ("development", '"pytest==', '"another-one==1", "pytest==', "has nothing"),
        ("uv", '"uv==', '"uv==1', "wants uv==1"),
    ],
)
def test_lock_that_does_not_fit_says_what(
    locks: Any, project: Path, name: str, before: str, after: str, says: str
) -> None:
    locks.check(name)
    changed(project / "pyproject.toml", before, after)
    with pytest.raises(locks.Wrong, match=says):
        locks.check(name)


def test_users_get_what_developers_test(locks: Any, project: Path) -> None:
    lock = project / "scripts" / "requirements" / "runtime.txt"
    changed(lock, "\nh11==", "\nh11==9")
    with pytest.raises(locks.Wrong, match="has another h11 than development"):
        locks.check("runtime")


def test_lock_that_is_not_there_is_reported(
    locks: Any,
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (project / "scripts" / "requirements" / "pip.txt").unlink()
    monkeypatch.setattr(sys, "argv", ["locks"])
    assert locks.main() == 1
    assert "pip.txt: cannot be read" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("flags", "written"), [(["--fix"], ["fuzz"]), (["--upgrade"], "all"), ([], [])]
)
def test_only_what_has_to_be_is_written(
    locks: Any,
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
    flags: list[str],
    written: list[str] | str,
) -> None:
    lock = project / "scripts" / "requirements" / "fuzz.txt"
    good = lock.read_text(encoding="utf-8")
    changed(lock, "atheris==", "atheris==0.")
    seen = []

    def write(name: str, *, upgrade: bool) -> None:
        assert upgrade == (flags == ["--upgrade"])
        seen.append(name)
        lock.write_text(good, encoding="utf-8")

    monkeypatch.setattr(locks, "write", write)
    monkeypatch.setattr(sys, "argv", ["locks", *flags])
    assert locks.main() == (0 if flags else 1)
    assert seen == ([*locks.SETS] if written == "all" else written)


def test_locks_are_written_from_the_index_alone(
    locks: Any, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = {"UV_FIND_LINKS": "/files/that/lie/around", "UV_DEFAULT_INDEX": "https://a"}
    uv = locks._uv.Uv("uv", given, frozenset())
    commands: list[list[str]] = []

    def run(_title: str, command: list[str], **more: str) -> None:
        assert more == {"UV_DEFAULT_INDEX": "https://a"}
        commands.append(command)
        lock = Path(command[command.index("--output-file") + 1])
        lock.write_text(ONE, encoding="utf-8")

    monkeypatch.setattr(locks, "_uv_at_hand", lambda: uv)
    monkeypatch.setattr(locks._bootstrap, "run", run)
    locks.write("runtime", upgrade=False)
    locks.write("oldest", upgrade=True)
    runtime, oldest = commands
    assert runtime[-1] == str(project / "scripts" / "requirements" / "development.txt")
    assert "--upgrade" not in runtime
    assert "--upgrade" in oldest
    lock = project / "scripts" / "requirements" / "runtime.txt"
    assert lock.read_text(encoding="utf-8") == locks.HEAD + ONE
