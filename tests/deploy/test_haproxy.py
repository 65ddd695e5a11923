"""HAProxy really runs, before real instances, with the configuration that is shipped."""

import http.client
import re
import signal
import subprocess
import threading
from pathlib import Path

import pytest

import drain
import support
from deploy.rig import ANSWER, BODY, HEAD, TAIL, Rig, broken, finish
from script_runs import ended
from support import LOOPBACK, PATIENCE, Http1Client
from workshop.deploy import haproxy, instances

TEXT = haproxy.CONFIGURATION.read_text(encoding="utf-8")


def check(path: Path) -> subprocess.CompletedProcess[str]:
    command = [haproxy.find(), "-c", "-f", str(path)]
    return ended(command)


def test_shipped_configuration_is_valid_as_it_stands() -> None:
    done = check(haproxy.CONFIGURATION)
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr


def test_nothing_but_ports_and_sockets_differs_from_what_is_shipped() -> None:
    made = haproxy.configuration([8081, 8082], "127.0.0.1:8080", Path("/x.sock"))
    shipped = set(TEXT.splitlines())
    ours = set(made.splitlines())
    assert ours - shipped == {
        "    stats socket /x.sock mode 600 level admin expose-fd listeners"
    }
    assert {line.split()[0] for line in shipped - ours} == {
        "stats",
        "user",
        "group",
        "#",
    }


@pytest.mark.parametrize("count", [1, 2, 4])
def test_every_stream_is_exact_and_every_instance_serves(rig: Rig, count: int) -> None:
    used = rig.use(count)
    assert finish(rig.ask(8 * count)) == []
    assert all(int(rig.stat(each)["stot"]) > 0 for each in used)


def test_pages_of_an_instance_are_for_its_own_machine_alone(rig: Rig) -> None:
    (used,) = rig.use(1)
    headers = {"host": f"{LOOPBACK}:{used.port}", "accept": "text/html"}

    def status(port: int, path: str) -> int:
        connection = http.client.HTTPConnection(LOOPBACK, port, timeout=PATIENCE)
        connection.request("GET", path, headers=headers)
        code = connection.getresponse().status
        connection.close()
        return code

    for path in ("/", "/llm-normalize/", "/llm-normalize/metrics"):
        assert (status(used.port, path), status(rig.haproxy.port, path)) == (200, 404)


def test_each_event_leaves_haproxy_by_itself(rig: Rig) -> None:
    rig.use(1)
    gates = [threading.Event() for _ in range(5)]
    events = [each + b"\n\n" for each in ANSWER.split(b"\n\n")[1:6]]
    parts: list[support.Part] = [broken(HEAD)]
    for event, gate in zip(events, gates, strict=True):
        parts += [broken(event), gate]
    script = rig.provider.script(*parts)
    with Http1Client(support.connect(rig.haproxy.port)) as client:
        reply = client.post(script.path, BODY)
        for event, gate in zip(events, gates, strict=True):
            assert reply.until(event).endswith(event)
            gate.set()  # only now the next one is sent


def test_killed_instance_costs_its_own_streams_alone(rig: Rig) -> None:
    lost, other = rig.use(2)
    with rig.halfway(12) as (streams, gate):
        held = rig.haproxy.sessions(lost.port)
        assert held == rig.haproxy.sessions(other.port) == 6
        assert lost.process is not None
        lost.process.kill()
        lost.process.wait()
        # At once, before a health check can have noticed.
        assert finish(rig.ask(12)) == []
        rig.wait_until(lambda: sum(not each.is_alive() for each in streams) == held)
        gate.set()
    failed = finish(streams)
    assert len(failed) == held
    assert all(each.body == HEAD and each.failure for each in failed)
    rig.wait_until(lambda: rig.status(lost).startswith("DOWN"))
    lost.stop()
    lost.start()
    lost.ready()
    rig.wait_until(lambda: rig.status(lost).startswith("UP"))
    before = int(rig.stat(lost)["stot"])
    assert finish(rig.ask(12)) == []
    assert int(rig.stat(lost)["stot"]) > before


def test_reload_loses_no_stream(rig: Rig) -> None:
    used = rig.use(2)
    with rig.halfway(8) as (streams, gate), rig.asking() as asked:
        workers = {rig.haproxy.worker}
        for _ in range(3):
            rig.haproxy.reload()
            workers.add(rig.haproxy.worker)
        assert len(workers) == 4
        # The old process goes on with these.
        assert all(each.is_alive() for each in streams)
        gate.set()
        assert finish(streams) == []
    assert asked
    assert finish(asked) == []
    assert [rig.status(each).split()[0] for each in used] == ["UP", "UP"]


def test_drained_instance_can_be_replaced_without_a_loss(rig: Rig) -> None:
    drained, _ = rig.use(2)
    server = f"{haproxy.BACKEND}/{haproxy.name_of(drained.port)}"
    admin = str(rig.haproxy.admin)
    with rig.halfway(8) as (streams, gate), rig.asking() as asked:
        left: list[int] = []
        draining = threading.Thread(
            target=lambda: left.append(drain.drain(admin, server, 30))
        )
        draining.start()
        rig.wait_until(lambda: rig.status(drained).startswith("DRAIN"))
        rig.wait_until(lambda: rig.haproxy.sessions(drained.port) == 4)
        served = int(rig.stat(drained)["stot"])
        assert finish(rig.ask(6)) == []
        assert int(rig.stat(drained)["stot"]) == served  # nothing new
        assert draining.is_alive()
        gate.set()
        draining.join(support.PATIENCE)
        assert left == [0]
        drained.stop()
        drained.start()
        drain.set_state(admin, server, "ready")  # too early, as the unit does
        drained.ready()
        rig.wait_until(lambda: rig.status(drained) == "UP L7OK")
        rig.wait_until(lambda: int(rig.stat(drained)["stot"]) > served)
    assert finish(streams) == []
    assert finish(asked) == []


def test_drain_says_what_is_left_when_its_time_is_up(
    rig: Rig, capsys: pytest.CaptureFixture[str]
) -> None:
    drained, _ = rig.use(2)
    server = f"{haproxy.BACKEND}/{haproxy.name_of(drained.port)}"
    with rig.halfway(2) as (streams, gate):
        assert drain.drain(str(rig.haproxy.admin), server, 0.7) == 1
        gate.set()
    assert finish(streams) == []
    assert "1 under way" in capsys.readouterr().err


def test_instance_that_hangs_gets_nothing_new_and_keeps_what_it_has(rig: Rig) -> None:
    hung, _ = rig.use(2)
    assert hung.process is not None
    with rig.halfway(4) as (streams, gate):
        hung.process.send_signal(signal.SIGSTOP)
        try:
            # It still takes connections: only an answer shows that it lives.
            rig.wait_until(lambda: rig.status(hung).startswith("DOWN"))
            assert finish(rig.ask(6)) == []
        finally:
            hung.process.send_signal(signal.SIGCONT)
        gate.set()
    assert finish(streams) == []
    rig.wait_until(lambda: rig.status(hung) == "UP L7OK")


def test_health_check_asks_no_provider(tmp_path: Path) -> None:
    with (
        support.Provider() as provider,
        instances.running(1, tmp_path, f"http://127.0.0.1:{provider.port}") as made,
        haproxy.Haproxy(tmp_path, [made[0].port]) as balancer,
    ):
        rig = Rig(provider, made, balancer)
        rig.wait_until(lambda: rig.status(made[0]) == "UP L7OK")
        asked = made[0].folder / "mitmdump.log"
        rig.wait_until(lambda: asked.read_text("utf-8").count("b'?'") >= 2)
        log = (tmp_path / "haproxy.log").read_text("utf-8")
        assert provider.protocols == []
        assert " 400 " not in log  # nor does a check count as a request
        assert finish(rig.ask(1)) == []
        assert provider.protocols == ["http/1.1"]


def test_secrets_in_a_query_stay_out_of_haproxys_log(rig: Rig) -> None:
    rig.use(1)
    rig.provider.alias(rig.whole, f"{rig.whole.path}?key=SECRET-KEY")
    with Http1Client(support.connect(rig.haproxy.port)) as client:
        assert client.post(f"{rig.whole.path}?key=SECRET-KEY", BODY).rest() == ANSWER
    folder = rig.instances[0].folder.parent
    log = folder / "haproxy.log"
    rig.wait_until(lambda: rig.whole.path in log.read_text("utf-8"))
    assert "SECRET-KEY" not in log.read_text("utf-8")
    # Nor in what mitmdump prints.
    assert "SECRET-KEY" not in (rig.instances[0].folder / "mitmdump.log").read_text(
        "utf-8"
    )
    assert TAIL in ANSWER


def seconds(name: str) -> int:
    found = re.search(rf"(?m)^    timeout {name} (\d+)(m|s)$", TEXT)
    assert found is not None
    return int(found[1]) * (60 if found[2] == "m" else 1)


@pytest.mark.parametrize("name", ["client", "server", "tunnel"])
def test_silence_is_not_cut_before_mitmproxy_itself_gives_up(name: str) -> None:
    settings = dict(each.split("=") for each in instances.SETTINGS)
    patience = int(settings["tcp_timeout"])
    assert patience >= 30 * 60
    assert seconds(name) > patience


def test_nothing_is_buffered_and_nothing_asked_twice() -> None:
    options = [line.split()[1:] for line in TEXT.splitlines() if "option " in line]
    assert ["http-no-delay"] in options
    assert ["http-buffer-request"] not in options
    assert "compression" not in TEXT
    assert re.search(r"(?m)^    retry-on conn-failure$", TEXT)
