"""A provider that is down: nobody listens, TLS fails, a proxy refuses, or a loop."""

import contextlib
import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from faults.rig import ASKED, DUE, HTTP1, HTTP2, SENT, Rig, whole
from faults.scenario import zipped
from support import LOOPBACK, Mitmdump, Part, Provider, Reply, starting, tunnelled

ROUTED = "api.brook.test"
NOWHERE = "gone.invalid"  # RFC 6761
KEY = "sk-a-canary-word"
AUTH = {"authorization": f"Bearer {KEY}"}
CHAT = "/v1/chat/completions"
HELLO = b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n"


@contextlib.contextmanager
def nobody() -> Iterator[int]:
    """Reserve a port on which nobody listens."""
    with socket.socket() as held:
        held.bind((LOOPBACK, 0))
        yield held.getsockname()[1]


@contextlib.contextmanager
def plain() -> Iterator[int]:
    """Answer whatever arrives as a server does that speaks no TLS."""

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = listener.accept()
                with client:
                    client.recv(65536)
                    client.sendall(HELLO)

    with socket.create_server((LOOPBACK, 0)) as listener:
        threading.Thread(target=serve, daemon=True).start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)


def error_in(reply: Reply, status: int = 502) -> dict[str, object]:
    """Return the error of *reply*, which has OpenAI's form."""
    assert reply.status == status
    assert reply.headers["content-type"] == "application/json"
    body = reply.rest()
    assert KEY.encode() not in body
    error: dict[str, object] = json.loads(body)["error"]
    assert error.keys() == {"message", "type", "param", "code"}
    assert (error["type"], error["param"]) == ("server_error", None)
    return error


@contextlib.contextmanager
def failing(
    mitmdump: Mitmdump, secure: Provider, status: int, **options: object
) -> Iterator[str]:
    """Yield a path to ask for with these *options*: its record tells of *status*."""
    script = secure.script(path=CHAT)
    with Rig(mitmdump, secure, tunnelled=True).bystander():
        with mitmdump.options(**options):
            yield script.path
        *_, flow = mitmdump.records(script)
        assert (flow["end"], flow["status"]) == ("error", status)


class Down:
    """The ways in which the target of a route is down."""

    def __init__(self, explicit: Mitmdump, secure: Provider) -> None:
        self._own, self._secure = explicit.port, secure.port

    @contextlib.contextmanager
    def target(self, how: str) -> Iterator[tuple[str, str, str]]:
        """Return a target, its host, and the reason that the client reads."""
        with nobody() as silent, plain() as port:
            yield {
                "refuses": (
                    f"http://{LOOPBACK}:{silent}",
                    f"{LOOPBACK}:{silent}",
                    "it refused the connection",
                ),
                "no name": (
                    f"https://{NOWHERE}",
                    NOWHERE,
                    "its name cannot be resolved",
                ),
                "wrong name": (
                    f"https://127.1:{self._secure}",
                    f"127.1:{self._secure}",
                    "its certificate is invalid (hostname mismatch)",
                ),
                "no TLS": (
                    f"https://{LOOPBACK}:{port}",
                    f"{LOOPBACK}:{port}",
                    "it does not speak TLS on this port",
                ),
            }[how]


@pytest.mark.fault("down-routed")
@pytest.mark.parametrize("protocol", [HTTP1, HTTP2])
@pytest.mark.parametrize("how", ["refuses", "no name", "wrong name", "no TLS"])
def test_target_of_a_route_that_is_down_is_an_error_in_openais_form(
    explicit: Mitmdump, secure: dict[str, Provider], how: str, protocol: str
) -> None:
    rig = Rig(explicit, secure[HTTP1], tunnelled=True)
    script = secure[HTTP1].script(*SENT, path=CHAT)
    with rig.bystander(), Down(explicit, secure[HTTP1]).target(how) as down:
        target, host, reason = down
        with (
            explicit.options(normalize_routes=[f"{ROUTED}={target}"]),
            tunnelled(explicit, f"{ROUTED}:443", protocol) as client,
        ):
            for _ in range(2):
                error = error_in(client.post(script.path, ASKED, AUTH))
                assert error["message"] == f"No answer from {host}: {reason}."
            *_, flow = explicit.records(script)
            assert (flow["end"], flow["status"]) == ("error", 502)
            there = f"https://localhost:{secure[HTTP1].port}"
            explicit.set(normalize_routes=[f"{ROUTED}={there}"])
            assert client.post(script.path, ASKED).rest() == whole(DUE)
    assert KEY not in explicit.printed()


@pytest.mark.fault("down-loop")
@pytest.mark.parametrize("protocol", [HTTP1, HTTP2])
def test_route_to_the_proxy_itself_is_a_loop(
    explicit: Mitmdump, secure: dict[str, Provider], protocol: str
) -> None:
    own = f"{LOOPBACK}:{explicit.port}"
    routes = [f"{ROUTED}=http://{own}"]
    talk = failing(explicit, secure[HTTP1], 508, normalize_routes=routes)
    with talk as path, tunnelled(explicit, f"{ROUTED}:443", protocol) as client:
        error = error_in(client.post(path, ASKED), 508)
        assert str(error["message"]).startswith(f"{own} is this proxy itself.")


@pytest.mark.fault("down")
@pytest.mark.parametrize("protocol", [HTTP1, HTTP2])
def test_selected_host_that_is_down_is_an_error_in_openais_form(
    explicit: Mitmdump, secure: dict[str, Provider], protocol: str
) -> None:
    place = f"localhost:{secure[HTTP1].port}"
    talk = failing(explicit, secure[HTTP1], 502, ssl_verify_upstream_trusted_ca=None)
    with talk as path, tunnelled(explicit, place, protocol) as client:
        error = error_in(client.post(path, ASKED))
        start = f"No answer from {place}: its certificate is from an unknown CA ("
        assert str(error["message"]).startswith(start)
        assert b"<h1>502 Bad Gateway</h1>" in client.post("/other", ASKED).rest()


@pytest.fixture
def behind(tmp_path: Path, mitm_ca: Path, provider_ca: Path) -> Iterator[Mitmdump]:
    """A proxy behind another one that passes TLS on."""
    with starting(tmp_path, mitm_ca) as start:
        other = start(normalize_hosts=NOWHERE)
        yield start(
            *("--mode", f"upstream:http://{LOOPBACK}:{other.port}"),
            normalize_hosts="localhost",
            ssl_verify_upstream_trusted_ca=str(provider_ca),
        )


@pytest.mark.fault("down-behind")
def test_behind_another_proxy_errors_are_the_same(
    behind: Mitmdump, secure: dict[str, Provider]
) -> None:
    rig = Rig(behind, secure[HTTP1], tunnelled=True)
    stalls = threading.Event()
    parts: list[Part] = [*zipped(SENT)[:2], b"\xff" * 64, stalls]
    gzip = {"content-encoding": "gzip"}
    script = rig.provider.script(*parts, headers=gzip)
    with rig.bystander(), nobody() as port:
        with tunnelled(rig.mitmdump, f"localhost:{port}") as client:
            message = str(error_in(client.post(CHAT, ASKED))["message"])
            assert message == (
                f"No answer from localhost:{port}: the upstream proxy refused (502)."
            )
        with rig.client() as client:
            reply = client.post(script.path, ASKED)
            assert reply.broken() == whole(DUE[:2])
    stalls.set()
    assert rig.mitmdump.records(script)[-1]["end"] == "upstream-broke"
