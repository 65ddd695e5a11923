"""The demo, run as a newcomer runs it: a real mitmdump, loopback only."""

import http.client
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from launchers import executable
from llm_normalize.demo import client, provider
from llm_normalize.desktop.mitmproxy_program import program as program_of_mitmproxy
from script_runs import is_empty

ADDON = Path(__file__).parents[2] / "addon"
DEMO = ("-m", "llm_normalize", "demo")
PROXIES = ("http_proxy", "https_proxy", "all_proxy", "HTTPS_PROXY", "ALL_PROXY")

# With programs that are looked for in a folder.
ELSEWHERE = """
import sys
from pathlib import Path
from llm_normalize import cli
from llm_normalize.demo import proxy
proxy.program = Path(sys.argv[1]).joinpath
sys.exit(cli.main(["demo"]))
"""

pytestmark = pytest.mark.skipif(
    os.name == "nt", reason="asks for process groups and terminals as POSIX has them"
)


class Run(NamedTuple):
    """A demo that has ended."""

    code: int
    out: str
    err: str
    group: int
    temporary: Path

    @property
    def log(self) -> Path:
        found = re.search(
            r"^The pairs log, event by event: (.+)$", self.out, re.MULTILINE
        )
        assert found
        return Path(found[1].strip())

    def records(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log.read_text("utf-8").splitlines()]


def environment(temporary: Path, **more: str) -> dict[str, str]:
    """Return a user's environment, his proxy out of order."""
    dropped = ("NO_COLOR", "COLUMNS", "LINES", "TERM")
    kept = {name: os.environ[name] for name in os.environ if name not in dropped}
    proxies = dict.fromkeys(PROXIES, "http://127.0.0.1:9")
    own = {"TMPDIR": str(temporary), "TERM": "xterm", "PYTHONIOENCODING": "utf-8"}
    own["PYTHONPATH"] = str(ADDON)
    return {**kept, **proxies, **own, **more}


def run(temporary: Path, *command: str, **more: str) -> Run:
    with subprocess.Popen(
        [sys.executable, *(command or DEMO)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(temporary, **more),
        encoding="utf-8",
        start_new_session=True,  # its children are the group that we look for
    ) as process:
        out, err = process.communicate(timeout=60)
    return Run(process.returncode, out, err, process.pid, temporary)


def program(folder: Path, *lines: str) -> Path:
    """Make a folder whose mitmdump is a shell script; return it."""
    return executable(folder / "mitmdump", *lines).parent


def run_with(folder: Path, temporary: Path) -> Run:
    return run(temporary, "-c", ELSEWHERE, str(folder))


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return run(tmp_path_factory.mktemp("plain"))


# What a newcomer sees


def test_demo_succeeds_although_the_users_proxy_is_out_of_order(plain: Run) -> None:
    assert (plain.code, plain.err) == (0, "")
    assert "\x1b" not in plain.out  # no terminal, no colour
    assert "is what OpenAI would have sent" in plain.out


def test_what_differs_is_shown_before_and_after(plain: Run) -> None:
    before, after = (
        '  - data: …"delta":{"role":null,"content":" fun"}…',
        '  + data: …"delta":{"content":" fun"}…',
    )
    assert f"\n{before}\n{after}\n" in plain.out
    shown = [line[:4] for line in plain.out.splitlines()]
    pairs = [each for each in plain.records() if each["type"] == "pair"]
    assert shown.count("  - ") == len(pairs)
    assert shown.count("  + ") == sum(len(each["after"]) for each in pairs)


def test_fixes_are_listed_as_the_pairs_log_counts_them(plain: Run) -> None:
    flows = [each for each in plain.records() if each["type"] == "flow"]
    assert [flow["end"] for flow in flows] == ["complete", "complete"]
    counts: dict[str, int] = {}
    for flow in flows:
        for name, count in flow["fixes"].items():
            counts[name] = counts.get(name, 0) + count
    assert "role-null" in counts
    listed = re.findall(r"^ +(\d+)  ([a-z-]+) ", plain.out, re.MULTILINE)
    assert {name: int(count) for count, name in listed} == counts


def test_nothing_but_the_pairs_log_stays(plain: Run) -> None:
    assert [path for path in plain.temporary.rglob("*") if path.is_file()] == [
        plain.log
    ]
    assert plain.log.parent.stat().st_mode & 0o777 == 0o700
    assert is_empty(plain.group)


# What may go wrong


def test_mitmdump_that_fails_gives_its_last_lines_and_a_sentence(
    tmp_path: Path,
) -> None:
    prefix = program(tmp_path / "env", "echo no such option >&2", "exit 3")
    (tmp_path / "tmp").mkdir()
    done = run_with(prefix, tmp_path / "tmp")
    assert done.code == 1
    assert done.err == (
        "    no such option\n"
        "llm_normalize: mitmdump did not start: it ended with code 3.\n"
    )
    assert list(done.temporary.iterdir()) == []
    assert is_empty(done.group)


def test_stream_that_was_not_repaired_fails_the_demo(tmp_path: Path) -> None:
    real = program_of_mitmproxy("mitmdump")
    prefix = program(
        tmp_path / "env", f'exec "{real}" "$@" --set normalize_mode=observe'
    )
    done = run_with(prefix, tmp_path)
    assert done.code == 1
    assert "is not what OpenAI would have sent (A text: " in done.err
    assert re.search(r"has a null role in choice 0; and \d+ more\)", done.err)
    assert is_empty(done.group)


def test_web_shows_the_flows_until_it_is_told_to_end(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, *DEMO, "--web"],
        stdout=subprocess.PIPE,
        env=environment(tmp_path),
        encoding="utf-8",
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        page = next(line for line in process.stdout if "http://" in line).strip()
        found = re.fullmatch(r"http://(127\.0\.0\.1):(\d+)/(\?token=\w+)", page)
        assert found
        connection = http.client.HTTPConnection(found[1], int(found[2]), timeout=10)
        connection.request("GET", f"/flows{found[3]}")
        flows = json.loads(connection.getresponse().read())
        connection.close()
        process.send_signal(signal.SIGTERM)
        process.stdout.read()
        assert process.wait(10) == 128 + signal.SIGTERM
    assert [flow["response"]["status_code"] for flow in flows] == [200, 200]
    assert is_empty(process.pid)


def test_providers_own_stream_is_found_faulty() -> None:
    asked = {"stream_options": {"include_usage": True}}
    events = ["data: " + json.dumps(chunk) for chunk in provider.chunks(asked)]
    found = "\n".join(client.faults(events, asked))
    for part in ("[DONE]", "usage", "role", "finish"):
        assert part in found
