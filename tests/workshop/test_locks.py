"""The lock fits pyproject.toml, and holds versions and hashes alone."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from launchers import load

ROOT = Path(__file__).resolve().parents[2]
ONE = f"one==1.0 \\\n    --hash=sha256:{'0' * 64}\n"
TWO = f"two==2 ; sys_platform == 'win32' \\\n    --hash=sha256:{'1' * 64} \\\n    --hash=sha256:{'2' * 64}\n"  # fmt: skip


@pytest.fixture
def locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module, with a copy of what is pinned here."""
    module = load("workshop.release.locks")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    shutil.copy(module._bootstrap.LOCK, tmp_path)
    monkeypatch.setattr(module._bootstrap, "ROOT", tmp_path)
    monkeypatch.setattr(module._bootstrap, "LOCK", tmp_path / "lock.txt")
    monkeypatch.setattr(module.sys, "argv", ["locks"])
    return module


def changed(path: Path, before: str, after: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert before in text
    path.write_text(text.replace(before, after), encoding="utf-8")


def test_lock_here_fits_and_has_versions_and_hashes_alone(locks: Any) -> None:
    assert not any(map(locks.wrong, locks.SETS))
    text = locks._bootstrap.LOCK.read_text(encoding="utf-8").removeprefix(locks.HEAD)
    pin = r"[\w.-]+==[\w.]+(?: ; [^\\\n]+)?(?: \\\n    --hash=sha256:[0-9a-f]{64})+\n"
    assert re.fullmatch(rf"(# [a-z]+\n({pin})+)+", text)


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        ('"mitmproxy>=12,<13 ', '"mitmproxy>=12.9,<13 ', "runtime has 12.* wants mitm"),
        ('"mitmproxy==12.0.0"', '"mitmproxy==12.0.1"', "oldest has 12.0.0 where"),
        ('"pytest==', '"another-one==1", "pytest==', "development has nothing where"),
        ('"uv==', '"uv==1', "uv has .* wants uv==1"),
    ],
)
def test_lock_that_does_not_fit_says_what(
    locks: Any,
    capsys: pytest.CaptureFixture[str],
    before: str,
    after: str,
    says: str,
) -> None:
    assert locks.main() == 0
    changed(locks._bootstrap.ROOT / "pyproject.toml", before, after)
    assert locks.main() == 1
    assert re.search(says, capsys.readouterr().out)


def test_users_get_what_developers_test(locks: Any) -> None:
    runtime = locks._bootstrap.packages(locks._bootstrap.pinned("runtime"))
    work = locks._bootstrap.packages(locks._bootstrap.pinned("development"))
    for name in runtime.keys() & work.keys():
        versions = [
            {*re.findall(r"(?m)^[^ ]+==(\S+)", pins[name])} for pins in (runtime, work)
        ]
        assert versions[0] == versions[1], name


def pins(name: str, version: str) -> str:
    return f"{name}=={version} \\\n    --hash=sha256:{'0' * 64}\n"


@pytest.fixture
def uv(locks: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], list[str]]:
    """Stands in for uv, which pins mitmproxy in a version; returns what it was asked."""

    def prepare(version: str) -> list[str]:
        preferred: list[str] = []

        def compiled(arguments: tuple[str, ...], before: str) -> Any:
            preferred.append(before)
            oldest = "oldest" in arguments
            if arguments[-1] == "uv":
                return locks._bootstrap.pinned("uv")
            own = locks._bootstrap.pinned("runtime", "development")
            found = locks._bootstrap.packages(own)
            found["mitmproxy"] = pins("mitmproxy", "12.0.0" if oldest else version)
            return "".join(found.values())

        monkeypatch.setattr(locks, "compiled", compiled)
        return preferred

    return prepare


@pytest.mark.parametrize("flag", ["--fix", "--upgrade"])
def test_lock_is_written_in_sets(
    locks: Any, uv: Any, monkeypatch: pytest.MonkeyPatch, flag: str
) -> None:
    preferred = uv("12.8")
    project = locks._bootstrap.ROOT / "pyproject.toml"
    changed(project, "mitmproxy>=12,", "mitmproxy!=12.3.1,>=12,")
    monkeypatch.setattr(locks.sys, "argv", ["locks", flag])
    assert locks.main() == 0
    oldest = locks._bootstrap.packages(locks._bootstrap.pinned("oldest"))
    runtime = locks._bootstrap.packages(locks._bootstrap.pinned("runtime"))
    work = locks._bootstrap.packages(locks._bootstrap.pinned("development"))
    assert {*oldest} == {*runtime} - {*work}  # the rest stands in the set before it
    assert "mitmproxy==12.8 " in locks._bootstrap.pinned("runtime")
    assert "mitmproxy==12.0.0 " in locks._bootstrap.pinned(*locks._bootstrap.OLDEST)
    # What is pinned already is kept where it can, unless all is to be the newest.
    assert ("flask==" in preferred[0]) == (flag == "--fix")


def test_lock_is_made_from_the_index_alone(
    locks: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = {"UV_FIND_LINKS": "/files/that/lie/around", "UV_DEFAULT_INDEX": "https://a"}
    found = locks._uv.Uv("uv", (), given)

    def run(_title: str, command: list[str], **more: str) -> None:
        assert more == {"UV_DEFAULT_INDEX": "https://a"}
        assert {"--universal", "--generate-hashes"} < {*command}
        file = Path(command[command.index("--output-file") + 1])
        assert file.read_text(encoding="utf-8") == ONE
        file.write_text(TWO, encoding="utf-8")

    monkeypatch.setattr(locks._bootstrap, "uv", lambda: found)
    monkeypatch.setattr(locks._uv, "run", run)
    assert locks.compiled(("--group", "uv"), ONE) == TWO
