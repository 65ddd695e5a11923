"""Do the packages in `.venv` fit together, and is a hole known in any of them?

The first needs nothing. The second asks a service for advisories (OSV), which not every
network lets through: then it says that nothing was audited, and that is no failure. With
a service pip-audit asks it, in an environment of its own, made when first needed.
"""

import contextlib
import json
import os
import subprocess
import sys
import urllib.request
from importlib import metadata
from pathlib import Path
from typing import Any

import _bootstrap

SERVICE = "https://api.osv.dev/v1/query"
OTHER_SERVICE = "LLM_NORMALIZE_OSV"
"""Names another service that answers as OSV does: a mirror, or a test's."""
NOT_DONE = 75  # EX_TEMPFAIL of sysexits.h
_PATIENCE = 3  # seconds for a first answer
_LONGEST = 120  # seconds for all packages


def main() -> int:
    """Print what was found, the shortest first, and return the exit code."""
    wrong = inconsistent()
    if wrong:
        print(wrong)
        return 1
    service = os.environ.get(OTHER_SERVICE, SERVICE)
    if not answers(service):
        print("not audited: no advisory service reached; the packages fit together")
        return NOT_DONE
    try:
        report = audited(service, auditor())
    except _bootstrap.MismatchError as error:
        print(error)
        return 1
    except (_bootstrap.SetupError, OSError) as error:
        print("\n".join(getattr(error, "lines", ())))
        print(f"not audited: {error}; the packages fit together")
        return NOT_DONE
    if report is None:
        print("not audited: the advisory service broke off; the packages fit together")
        return NOT_DONE
    return print_report(report)


def inconsistent() -> str:
    """Return what pip says of packages that lack others or do not fit; empty if all is well."""
    done = _run(sys.executable, "-m", "pip", "check")
    return (done.stdout + done.stderr).strip() if done.returncode else ""


def answers(service: str) -> bool:
    """Tell whether *service* answers a question for advisories as OSV does."""
    package = {"name": "mitmproxy", "ecosystem": "PyPI"}
    asked = {"package": package, "version": metadata.version("mitmproxy")}
    with contextlib.suppress(OSError, ValueError):
        request = urllib.request.Request(  # noqa: S310 - ours, or the user's word
            service,
            json.dumps(asked).encode(),
            {"content-type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=_PATIENCE) as answer:  # noqa: S310
            found = json.load(answer)
        return isinstance(found, dict) and set(found) <= {"vulns", "next_page_token"}
    return False


def auditor() -> Path:
    """Return pip-audit's program, its environment made if need be.

    Raises:
        SetupError: It cannot be made.
        OSError: Likewise.
    """
    here = _bootstrap.probe([sys.executable])
    inner = _bootstrap.environment("audit", here, ("audit",))
    return _bootstrap.program(inner.parent.parent, "pip-audit")


def audited(service: str, program: Path) -> list[dict[str, Any]] | None:
    """Return what pip-audit tells of each package here; None if it did not come through.

    Its exit code alone says little: 1 is a hole as well as a service that is gone, and 0
    is a service that knows none of the packages.
    """
    command = [str(program), "--format=json", "--progress-spinner=off", "--timeout=5"]
    command += ["--vulnerability-service=osv", f"--osv-url={service}"]
    # Where the packages are: in another environment than its own.
    command += ["--path", str(metadata.distribution("pip").locate_file(""))]
    try:
        done = _run(*command)
        report = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError, subprocess.TimeoutExpired):
        return None
    return report if isinstance(report, list) and report else None


def print_report(report: list[dict[str, Any]]) -> int:
    """Print what *report* says and return the exit code."""
    skipped = [each["name"] for each in report if "skip_reason" in each]
    holes = [
        f"{each['name']} {each['version']}: {hole['id']}"
        f"{_repaired(hole)} (https://osv.dev/vulnerability/{hole['id']})"
        for each in report
        for hole in each.get("vulns", ())
    ]
    for line in holes:
        print(line)
    count = len(report) - len(skipped)
    if not count:
        print("not audited: the service knows none of the packages")
        return NOT_DONE
    left = f"; not asked for: {', '.join(skipped)}" if skipped else ""
    print(f"{count} packages audited, {len(holes) or 'no'} known holes{left}")
    return int(bool(holes))


def _repaired(hole: dict[str, Any]) -> str:
    versions = ", ".join(hole.get("fix_versions") or ())
    return f", repaired in {versions}" if versions else ""


def _run(*command: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        timeout=_LONGEST,
        check=False,
    )


if __name__ == "__main__":
    sys.exit(main())
