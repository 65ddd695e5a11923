"""pip-audit itself, asked by scripts/check.py's audit, with a service on loopback."""

import json
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import metadata

import workshop
from script_runs import ended
from support import Provider, Request, Script, body_script

HOLE = {
    "id": "PYSEC-2026-1",
    "summary": "Made up.",
    "affected": [
        {
            "package": {"name": "certifi", "ecosystem": "PyPI"},
            "ranges": [{"type": "ECOSYSTEM", "events": [{"fixed": "9999.1"}]}],
        }
    ],
}


@contextmanager
def service(holes: Mapping[str, object]) -> Iterator[tuple[str, list[str]]]:
    """Give a service that knows *holes* by package, and the packages it is asked for."""
    asked: list[str] = []

    def answer(request: Request) -> Script:
        name = json.loads(request.body)["package"]["name"]
        asked.append(name)
        known = {"vulns": [holes[name]]} if name in holes else {}
        return body_script(json.dumps(known).encode())

    with Provider(answer=answer) as server:
        yield f"{server.url}/v1/query", asked


def audit(url: str) -> subprocess.CompletedProcess[str]:
    environment = workshop.variables(
        LLM_NORMALIZE_OSV=url, NO_PROXY="*", **workshop.MODULES
    )
    return ended(
        workshop.module("workshop.release.audit"),
        env=environment,
        stderr=subprocess.STDOUT,
    )


def test_known_hole_fails_and_none_does_not() -> None:
    with service({}) as (url, asked):
        done = audit(url)
    assert done.returncode == 0, done.stdout
    assert "no known holes" in done.stdout.splitlines()[-1]
    assert {"mitmproxy", "certifi", "tornado"} <= set(asked)
    with service({"certifi": HOLE}) as (url, _):
        done = audit(url)
    assert done.returncode == 1, done.stdout
    version = metadata.version("certifi")
    assert f"certifi {version}: PYSEC-2026-1, repaired in 9999.1" in done.stdout
