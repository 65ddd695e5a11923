import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from llm_normalize.records.log_file import LogFile
from llm_normalize.setup import leftovers, uninstall
from support import status_page


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user who has installed the package, and used nothing of it."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    monkeypatch.setattr(leftovers, "CHECKOUT", tmp_path / "none")
    (tmp_path / "tmp").mkdir()
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


@pytest.fixture
def used(home: Path) -> list[Path]:
    """What using it has left."""
    confdir = home / ".mitmproxy"
    (confdir / "normalize").mkdir(parents=True)
    (confdir / "normalize" / "pairs-8080.jsonl").touch()
    (confdir / "mitmproxy-ca.pem").touch()
    (confdir / "mitmproxy-dhparam.pem").touch()
    demo = Path(tempfile.gettempdir()) / "llm-normalize-demo-x"
    demo.mkdir()
    names = ("mitmproxy-ca.pem", "mitmproxy-dhparam.pem", "normalize")
    return [*(confdir / name for name in names), demo]


def test_where_nothing_is_left_it_says_so(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert uninstall.main([]) == 0
    assert capsys.readouterr().out == "Nothing of llm-normalize is left.\n"


def test_what_is_shown_goes_and_nothing_else(
    home: Path, used: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert uninstall.main(["--dry-run"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[:-1] == [str(each) for each in used]
    assert said[-1].startswith("Stays, remove it as it was installed: pip uninstall")
    assert all(each.exists() for each in used)
    (home / ".mitmproxy" / "config.yaml").touch()
    assert uninstall.main(["--yes"]) == 0
    assert not any(each.exists() for each in used)
    assert [each.name for each in (home / ".mitmproxy").iterdir()] == ["config.yaml"]


@pytest.mark.parametrize("answer", ["", "n", None])
def test_without_agreement_everything_stays(
    answer: str | None, used: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def given(_: str) -> str:
        if answer is None:
            raise EOFError
        return answer

    monkeypatch.setattr("builtins.input", given)
    assert uninstall.main([]) == 1
    assert all(each.exists() for each in used)


def test_files_stay_while_the_system_s_proxy_cannot_be_restored(
    home: Path, used: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    (home / ".mitmproxy" / "normalize" / "system-proxy.json").write_text("{")
    assert uninstall.main(["--yes"]) == 1
    assert all(each.exists() for each in used)
    assert "the files stay until that is done" in capsys.readouterr().err


def test_what_is_only_named_alike_is_somebody_s_own(
    home: Path,
    used: list[Path],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    confdir = home / ".mitmproxy"
    checkout = home / "checkout"
    monkeypatch.setattr(leftovers, "CHECKOUT", checkout / "scripts" / "run.py")
    (checkout / "scripts").mkdir(parents=True)
    (checkout / "scripts" / "run.py").touch()
    for name in (".venv", ".venv-py3.13", ".venv-mine"):
        (checkout / name).mkdir()
        (checkout / name / "pyvenv.cfg").touch()
    (checkout / ".venv-uv").mkdir()
    (checkout / ".venv.lock").touch()
    (checkout / ".venv-mitmproxy-11.0.2").mkdir()  # empty: no environment
    (checkout / ".venvs.txt").touch()
    (confdir / "mitmproxy-ca-of-my-company").mkdir()
    (confdir / "mitmproxy-ca-of-my-company" / "key.pem").touch()
    (confdir / "mitmproxy-ca.pem.bak").touch()
    (confdir / "mitmproxy-ca-cert.pem").mkdir()
    notes = Path(tempfile.gettempdir()) / "llm-normalize-demo-notes.txt"
    notes.touch()
    assert uninstall.main(["--yes"]) == 0
    assert not any(each.exists() for each in used)
    assert capsys.readouterr().err == ""
    assert notes.exists()
    assert sorted(each.name for each in confdir.iterdir()) == [
        "mitmproxy-ca-cert.pem",
        "mitmproxy-ca-of-my-company",
        "mitmproxy-ca.pem.bak",
    ]
    assert (confdir / "mitmproxy-ca-of-my-company" / "key.pem").exists()
    assert sorted(each.name for each in checkout.iterdir()) == [
        ".venv-mine",
        ".venv-mitmproxy-11.0.2",
        ".venvs.txt",
        "scripts",
    ]


def test_a_link_goes_and_what_it_leads_to_stays(
    home: Path, used: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    theirs = [home / "mine" / "records", home / "mine" / "demo"]
    for link, target in zip(used[-2:], theirs, strict=True):
        shutil.rmtree(link)
        target.mkdir(parents=True)
        (target / "kept").touch()
        link.symlink_to(target)
    assert uninstall.main(["--yes"]) == 0
    assert capsys.readouterr().err == ""
    assert not any(each.is_symlink() or each.exists() for each in used)
    assert all((each / "kept").exists() for each in theirs)


def test_what_cannot_be_removed_is_said_in_a_sentence(
    used: list[Path],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def refuses(path: Path) -> None:
        raise OSError(f"{path.name} is odd")  # as Python raises it, without a number

    monkeypatch.setattr(shutil, "rmtree", refuses)
    assert uninstall.main(["--yes"]) == 1
    said = capsys.readouterr().err
    assert f"llm_normalize: {used[-2]} cannot be removed: normalize is odd\n" in said


@pytest.fixture
def serving(home: Path) -> Iterator[int]:
    """What says that it is a proxy with this user's folder; a pairs log has its port."""

    with status_page(confdir=str(home / ".mitmproxy")) as server:
        yield server.port


def test_a_proxy_that_runs_is_to_be_stopped_first(
    home: Path, used: list[Path], serving: int, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / ".mitmproxy" / "normalize" / f"pairs-{serving}.jsonl").touch()
    assert uninstall.main(["--yes"]) == 1
    assert all(each.exists() for each in used)
    said = capsys.readouterr()
    stop = f"stop process {os.getpid()} (port {serving}) first"
    assert f"a proxy still uses {home / '.mitmproxy'}: {stop}\n" in said.err
    assert "the files stay until that is done" in said.err
    assert "Removed" not in said.out


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("pairs-1.jsonl", "stop the one on port 1, which writes "),
        ("pairs-exec-2.jsonl", "stop the program whose proxy writes "),
    ],
)
def test_who_writes_a_pairs_log_is_to_be_stopped_first(
    name: str,
    says: str,
    home: Path,
    used: list[Path],
    capsys: pytest.CaptureFixture[str],
) -> None:
    log = LogFile(home / ".mitmproxy" / "normalize" / name, 1000, print)
    log.append([b"{}\n"])
    try:
        assert uninstall.main(["--yes"]) == 1
        assert says in capsys.readouterr().err
        assert all(each.exists() for each in used)
    finally:
        log.close()
    assert uninstall.main(["--yes"]) == 0  # its lock is there, and nobody holds it


def test_a_demo_of_another_user_stays(
    used: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "getuid", lambda: used[-1].stat().st_uid + 1)
    assert uninstall.main(["--yes"]) == 0
    assert [each.exists() for each in used] == [False, False, False, True]
