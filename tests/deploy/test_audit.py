"""uv's own audit, asked by scripts/check.py, with a service on loopback."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata

import workshop
from script_runs import ended
from support import Provider, Request, Script, body_script

HOLE = {
    "id": "PYSEC-2026-1",
    "modified": "2026-01-01T00:00:00Z",
    "summary": "Made up.",
    "affected": [
        {
            "package": {"name": "certifi", "ecosystem": "PyPI"},
            "ranges": [
                {
                    "type": "ECOSYSTEM",
                    "events": [{"introduced": "0"}, {"fixed": "9999.1"}],
                }
            ],
        }
    ],
}


@contextmanager
def service(*holes: str) -> Iterator[tuple[str, list[str]]]:
    """Give a service that knows a hole in *holes*, and the packages it is asked for."""
    asked: list[str] = []

    def answer(request: Request) -> Script:
        if request.path == f"/v1/vulns/{HOLE['id']}":
            return body_script(json.dumps(HOLE).encode())
        assert request.path == "/v1/querybatch"
        names = [
            each["package"]["name"] for each in json.loads(request.body)["queries"]
        ]
        asked.extend(names)
        found = [{"vulns": [HOLE] if name in holes else []} for name in names]
        return body_script(json.dumps({"results": found}).encode())

    with Provider(answer=answer) as server:
        yield server.url, asked


def audit(url: str) -> subprocess.CompletedProcess[str]:
    return ended(
        [sys.executable, "-m", "workshop.release.audit", "--service-url", url],
        env=workshop.variables(NO_PROXY="*", PYTHONPATH=str(workshop.SCRIPTS)),
        stderr=subprocess.STDOUT,
    )


def test_known_hole_fails_and_none_does_not() -> None:
    with service() as (url, asked):
        done = audit(url)
    assert done.returncode == 0, done.stdout
    assert "no known vulnerabilities" in done.stdout.splitlines()[-1]
    assert {"mitmproxy", "certifi", "tornado", "pytest"} <= set(asked)
    with service("certifi") as (url, _):
        done = audit(url)
    assert done.returncode == 1, done.stdout
    version = metadata.version("certifi")
    assert f"certifi {version} has 1 known vulnerability" in done.stdout
    assert "Fixed in: 9999.1" in done.stdout


def test_page_of_a_network_is_no_service() -> None:
    page = body_script(b"<html>log in first</html>", content_type="text/html")
    with Provider(answer=lambda _: page) as server:
        done = audit(server.url)
    assert done.returncode == 75
    assert done.stdout.splitlines()[-1].startswith("not audited: ")
