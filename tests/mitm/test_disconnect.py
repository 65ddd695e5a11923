from collections.abc import Iterator
from contextlib import closing
from types import SimpleNamespace
from typing import Any

import pytest
from mitmproxy import connection, flow, http
from mitmproxy.addons.proxyserver import Proxyserver
from mitmproxy.test import taddons

from llm_normalize.mitm.client_stream import ClientStream
from llm_normalize.mitm.connection_errors import break_off, client_left
from proxies import broken, chat_flow, response_of


@pytest.mark.parametrize(
    ("message", "connected", "left"),
    [
        ("peer closed connection without sending complete body", True, False),
        ("Server disconnected.", True, False),
        ("Client disconnected.", True, True),
        ("Stream was reset", False, True),
        # What follows is the upstream's own text.
        (
            "HTTP/2 connection closed: <ConnectionTerminated b'max_clients'>",
            True,
            False,
        ),
    ],
)
def test_who_left_is_recognised_by_the_connection_and_the_error(
    message: str, connected: bool, left: bool
) -> None:
    made = chat_flow()
    broken(made, message, connected=connected)
    assert client_left(made) is left


@pytest.mark.parametrize(
    ("client", "server", "reason", "left"),
    [
        ("HTTP/1.1", "HTTP/2.0", "INTERNAL_ERROR", False),
        ("HTTP/1.1", "HTTP/2.0", "CANCEL", False),
        ("HTTP/2.0", "HTTP/1.1", "CANCEL", True),
        ("HTTP/2.0", "HTTP/1.1", "INTERNAL_ERROR", True),
        ("HTTP/2.0", "HTTP/2.0", "CANCEL", True),
        ("HTTP/2.0", "HTTP/2.0", "INTERNAL_ERROR", False),
    ],
)
def test_a_reset_by_an_http_2_upstream_is_not_the_client_s(
    client: str, server: str, reason: str, left: bool
) -> None:
    # mitmproxy says "client" on both sides (proxy/layers/http/_http2.py).
    made = chat_flow()
    made.request.http_version = client
    response_of(made).http_version = server
    broken(made, f"stream reset by client ({reason})")
    assert client_left(made) is left


@pytest.mark.parametrize("left", [True, False])
def test_mitmproxys_layers_know_better_than_its_words(
    monkeypatch: pytest.MonkeyPatch, left: bool
) -> None:
    client_streams = [SimpleNamespace(has_left=left), None]  # then nobody can tell
    monkeypatch.setattr(ClientStream, "of", lambda _: client_streams.pop(0))
    made = chat_flow()
    says = f"stream reset by client ({'NO_ERROR' if left else 'CANCEL'})"
    broken(made, says)
    assert client_left(made) is left
    broken(made, flow.Error.KILLED_MESSAGE)
    assert not client_left(made)
    made.request.http_version, made.response = "HTTP/2.0", None
    broken(made, says)
    assert client_left(made)  # of one that cannot be found, the words count
    assert client_left(made)  # nor of one in a mitmproxy with other inner parts
    assert client_streams == []


@pytest.fixture
def server() -> Iterator[Proxyserver]:
    made = Proxyserver()
    with (
        taddons.context(made) as context,
        closing(context.master.event_loop),  # mitmproxy 12.0 leaves it open
    ):
        yield made


def open_flow() -> http.HTTPFlow:
    made = chat_flow()
    made.server_conn.state = connection.ConnectionState.OPEN
    return made


def closed_for(made: http.HTTPFlow, server: Proxyserver) -> list[object]:
    """Let *server* know the client of *made*; return what it closes for it."""
    closed: list[object] = []
    handler: Any = SimpleNamespace(close_connection=closed.append)
    server.connections[made.client_conn.id] = handler
    return closed


@pytest.fixture
def resets(monkeypatch: pytest.MonkeyPatch) -> list[http.HTTPFlow]:
    """The flows whose streams are reset; none has one unless the test adds it."""
    found: list[http.HTTPFlow] = []

    def client_stream(made: http.HTTPFlow, _: object) -> Any:
        return SimpleNamespace(reset=lambda: found.append(made)) if found else None

    monkeypatch.setattr(
        "llm_normalize.mitm.connection_errors.ClientStream",
        SimpleNamespace(of=client_stream),
    )
    return found


@pytest.mark.usefixtures("resets")
def test_a_flow_that_the_user_killed_is_closed_all_the_same(
    server: Proxyserver,
) -> None:
    made = open_flow()
    closed = closed_for(made, server)
    made.live = False
    break_off(made)
    assert made.error is None
    assert closed == [made.server_conn]


@pytest.mark.usefixtures("resets")
def test_a_connection_that_is_closed_already_is_left_alone(
    server: Proxyserver,
) -> None:
    made = chat_flow()
    made.server_conn.state = connection.ConnectionState.CLOSED
    closed = closed_for(made, server)
    break_off(made)
    assert closed == []


def test_one_stream_is_reset_and_its_connection_stays_open(
    server: Proxyserver, resets: list[http.HTTPFlow]
) -> None:
    made = open_flow()
    closed = closed_for(made, server)
    resets.append(made)
    break_off(made)
    assert resets == [made, made]
    assert closed == []


def test_the_connection_is_closed_if_one_stream_cannot_be_reset(
    server: Proxyserver,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    made = open_flow()
    closed = closed_for(made, server)
    monkeypatch.setattr("llm_normalize.mitm.connection_errors.ClientStream", None)
    break_off(made)
    assert closed == [made.server_conn]
    assert caplog.messages == ["normalize: one stream cannot be reset alone"]


@pytest.mark.usefixtures("server")
def test_the_flow_of_a_client_that_has_gone_is_killed_only() -> None:
    made = open_flow()
    break_off(made)
    assert made.error is not None
    assert made.server_conn.connected
