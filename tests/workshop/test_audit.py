"""The audit of packages in scripts/check.py, without a network and without pip-audit."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from launchers import load, stand_in
from support import Provider, body_script

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
HOLE = {"id": "PYSEC-2026-1", "fix_versions": ["2", "3"]}


@pytest.fixture
def audit(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module, on a machine whose packages fit together."""
    module = load("workshop.release.audit")
    monkeypatch.setattr(module, "inconsistent", lambda: "")
    monkeypatch.setenv("NO_PROXY", "*")
    return module


@contextmanager
def service(answer: bytes, status: int = 200) -> Iterator[str]:
    with Provider(answer=lambda _: body_script(answer, status)) as server:
        yield f"{server.url}/v1/query"


def package(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "version": "1.0", "vulns": [], **more}


@pytest.mark.parametrize("answer", [b"{}", b'{"vulns": []}'])
def test_service_that_answers_as_osv_does_is_asked(audit: Any, answer: bytes) -> None:
    with service(answer) as url:
        assert audit.answers(url)


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        (b"<html>log in first</html>", 200),
        (b"{}", 503),
        (b"[]", 200),
        (b'{"code": 5}', 200),
    ],
)
def test_page_of_a_network_is_no_service(
    audit: Any, answer: bytes, status: int
) -> None:
    with service(answer, status) as url:
        assert not audit.answers(url)


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/", "nonsense", "ftp:x"])
def test_service_that_cannot_be_reached_is_none(audit: Any, url: str) -> None:
    assert not audit.answers(url)


def test_without_a_service_nothing_was_audited_and_that_is_reported(
    audit: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(audit.OTHER_SERVICE, "http://127.0.0.1:9/")
    assert audit.main() == audit.NOT_DONE
    assert "not audited: no advisory service reached" in capsys.readouterr().out


def test_packages_that_do_not_fit_fail_whatever_the_network(
    audit: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(audit, "inconsistent", lambda: "a 1 requires b, not installed")
    assert audit.main() == 1
    assert "requires b" in capsys.readouterr().out


def test_pip_is_asked_whether_packages_fit(
    audit: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.undo()
    broken = stand_in(tmp_path / "python", "3.13.0")
    broken.write_text('#!/bin/sh\necho "$@: a 1 requires b"\nexit 1\n')
    monkeypatch.setattr(sys, "executable", str(broken))
    assert audit.inconsistent() == "-m pip check: a 1 requires b"


@pytest.mark.parametrize(
    ("report", "code", "said"),
    [
        ([package("a"), package("b")], 0, "2 packages audited, no known holes"),
        (
            [package("a", vulns=[HOLE]), package("b")],
            1,
            "a 1.0: PYSEC-2026-1, repaired in 2, 3 (https://osv.dev/",
        ),
        (
            [package("a"), {"name": "b", "skip_reason": "x"}],
            0,
            "1 packages audited, no known holes; not asked for: b",
        ),
        (
            [{"name": "b", "skip_reason": "x"}],
            75,
            "not audited: the service knows none",
        ),
    ],
)
def test_holes_fail_and_what_was_not_audited_is_reported(
    audit: Any,
    capsys: pytest.CaptureFixture[str],
    report: list[dict[str, Any]],
    code: int,
    said: str,
) -> None:
    assert audit.print_report(report) == code
    assert said in capsys.readouterr().out


@pytest.mark.parametrize(
    ("printed", "code", "report"),
    [
        (json.dumps({"dependencies": [package("a")]}), 0, [package("a")]),
        (json.dumps({"dependencies": [package("a")]}), 1, [package("a")]),
        (json.dumps({"dependencies": []}), 0, None),
        ("Traceback", 1, None),
        ("", 0, None),
    ],
)
def test_exit_code_of_the_auditor_alone_means_nothing(
    audit: Any, tmp_path: Path, printed: str, code: int, report: Any
) -> None:
    program = stand_in(tmp_path / "pip-audit", "3.13.0")
    program.write_text(f"#!/bin/sh\necho '{printed}'\nexit {code}\n")
    assert audit.audited("http://127.0.0.1:9/", program) == report


def test_auditor_that_cannot_be_had_is_reported_and_is_no_failure(
    audit: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> None:
        raise audit._bootstrap.CommandError(
            "installing pip-audit failed", ["no network"]
        )

    monkeypatch.setattr(audit, "auditor", fail)
    with service(b"{}") as url:
        monkeypatch.setenv(audit.OTHER_SERVICE, url)
        assert audit.main() == audit.NOT_DONE
    said = capsys.readouterr().out
    assert "no network" in said
    assert "not audited: installing pip-audit failed" in said


def test_auditor_that_is_not_the_reviewed_one_is_a_failure(
    audit: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> None:
        raise audit._bootstrap.MismatchError("rich is not what was reviewed", [])

    monkeypatch.setattr(audit, "auditor", fail)
    with service(b"{}") as url:
        monkeypatch.setenv(audit.OTHER_SERVICE, url)
        assert audit.main() == 1
    assert "rich is not what was reviewed" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "code", "word", "reported"),
    [
        ("lint", 0, "ok", ""),
        ("lint", 1, "failed", "first\nlast"),
        ("lint", 75, "failed", "first\nlast"),
        ("audit", 0, "ok", "last"),
        ("audit", 1, "failed", "first\nlast"),
        ("audit", 75, "not done", "last"),
    ],
)
def test_check_tells_what_was_audited_even_when_all_is_well(
    name: str, code: int, word: str, reported: str
) -> None:
    assert load("check").outcome(name, code, "first\nlast\n") == (word, reported)


def test_check_and_audit_mean_the_same_code(audit: Any) -> None:
    assert load("check").NOT_DONE == audit.NOT_DONE
    assert load("check").tools(fix=False)["audit"] == ["-m", audit.__name__]
