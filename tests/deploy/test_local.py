"""The command that starts it all on one machine."""

import contextlib
import re
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

import support
from deploy.rig import ANSWER, BODY, HEAD, TAIL, broken
from support import Http1Client
from workshop import LOOPBACK
from workshop.child import Child, ChildError
from workshop.deploy.instances import Instance

SCRIPT = str(Path(__file__).resolve().parents[2] / "scripts" / "deploy" / "local.py")


@contextmanager
def started(*arguments: str) -> Iterator[tuple[Child, str]]:
    """Give the running command, and what it said until it was ready, or ended."""
    with Child("local.py", [sys.executable, SCRIPT, *arguments]) as child:
        with contextlib.suppress(ChildError):
            child.find(re.compile("Ctrl-C ends"))
        yield child, "\n".join([*child.lines, ""])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_serves_until_it_is_ended_and_leaves_nothing_running(
    tmp_path: Path, number: signal.Signals
) -> None:
    with support.Provider() as provider:
        script = provider.script(broken(HEAD), broken(TAIL))
        upstream = f"http://{LOOPBACK}:{provider.port}"
        given = ("--upstream", upstream, "--instances", "2", "--port", "0")
        with started(*given, "--folder", str(tmp_path)) as (process, said):
            port = int(re.findall(rf"base URL: http://{LOOPBACK}:(\d+)/v1", said)[0])
            for _ in range(4):
                with Http1Client(support.connect(port)) as client:
                    assert client.post(script.path, BODY).rest() == ANSWER
            family = psutil.Process(process.pid).children(recursive=True)
            assert len(family) == 4  # two instances, HAProxy's master and worker
            assert process.process is not None
            process.process.send_signal(number)
            code = process.process.wait(support.PATIENCE)
            assert code == (130 if number is signal.SIGINT else 128 + number)
            assert not [each for each in family if each.is_running()]
    logs = list(tmp_path.glob("*/normalize/pairs-*.jsonl"))
    assert len(logs) == 2


def test_first_and_last_lines_of_a_child_that_says_much_are_stored() -> None:
    with Child(
        "much", [sys.executable, "-c", "print(*range(999), sep='\\n')"]
    ) as child:
        child.find(re.compile("^998$"))
        assert [child.lines[0], child.lines[-1], len(child.lines)] == ["0", "998", 200]


def test_port_that_is_taken_gets_a_sentence(tmp_path: Path) -> None:
    with support.Provider() as provider:
        given = ("--upstream", "http://127.0.0.1:9", "--instances", "1")
        more = ("--port", str(provider.port), "--folder", str(tmp_path))
        with started(*given, *more) as (process, said):
            assert process.code == 1
    assert f"port {provider.port} cannot be had" in said
    assert "Traceback" not in said


def test_bad_argument_of_mitmdumps_gets_its_own_words(tmp_path: Path) -> None:
    given = ("--upstream", "http://127.0.0.1:9", "--instances", "1", "--port", "0")
    more = ("--folder", str(tmp_path), "--set", "normalize_mode=x")
    with started(*given, *more) as (process, said):
        assert process.code == 1
    assert "'x' is not" in said or "normalize_mode 'x'" in said
    assert said.endswith("llm_normalize: mitmdump ended as it started\n")


def test_users_setting_takes_the_place_of_the_shipped_one(tmp_path: Path) -> None:
    made = Instance(tmp_path, "http://x", ["--set", "tcp_timeout=7"], 1).command
    assert "tcp_timeout=7" in made
    assert "tcp_timeout=1800" not in made
    assert "connection_strategy=lazy" in made
