import asyncio
import collections
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import closing
from types import SimpleNamespace
from typing import Any

import pytest
from mitmproxy import addonmanager, connection, http
from mitmproxy.addons.proxyserver import Proxyserver
from mitmproxy.options import Options
from mitmproxy.proxy import commands, events
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layers import modes
from mitmproxy.proxy.layers.http import HttpLayer, HTTPMode, HttpStream
from mitmproxy.proxy.layers.http._base import ReceiveHttp
from mitmproxy.proxy.layers.http._events import (
    ErrorCode,
    RequestProtocolError,
    ResponseData,
    ResponseEndOfMessage,
    ResponseHeaders,
    ResponseProtocolError,
)
from mitmproxy.proxy.layers.http._http1 import Http1Server
from mitmproxy.proxy.layers.http._http2 import Http2Server
from mitmproxy.proxy.layers.http._http_h2 import SendH2Data
from mitmproxy.test import taddons

from llm_normalize.mitm import client_stream as client_stream_module
from llm_normalize.mitm.client_stream import ClientStream, close, slow_down
from proxies import chat_flow


class Side:
    """The client's or the provider's connection, which notes what it has to send."""

    def __init__(self) -> None:
        self.events: list[events.Event] = []

    def handle_event(self, event: events.Event) -> Iterator[commands.Command]:
        self.events.append(event)
        return iter(())


class Connections:
    """A client's connection whose streams get their answers over one other.

    Args:
        tunnelled: Whether the client uses CONNECT.
        count: How many streams.
    """

    def __init__(self, *, tunnelled: bool = False, count: int = 2) -> None:
        self.flows = [chat_flow() for _ in range(count)]
        self.client, self.provider = Side(), Side()
        first = self.flows[0]
        options = Options()
        Proxyserver().load(addonmanager.Loader(SimpleNamespace(options=options)))
        context = Context(first.client_conn, options)
        context.server = first.server_conn
        modes.HttpProxy(
            context
        )  # what mitmproxy has above the first of its HTTP layers
        self.top = self.http = HttpLayer(context, HTTPMode.regular)
        if tunnelled:
            connect = chat_flow()
            tunnel = self._stream(1, connect)
            tunnel._handle_event = tunnel.passthrough
            self.http = HttpLayer(tunnel.context, HTTPMode.transparent)
            tunnel.child_layer = self.http
        sides: Any = {first.client_conn: self.client, first.server_conn: self.provider}
        self.http.connections = sides
        self.streams = [
            self._stream(2 * at + 1, each) for at, each in enumerate(self.flows)
        ]

    def _stream(self, number: int, its: http.HTTPFlow) -> HttpStream:
        made = self.http.streams[number] = HttpStream(self.http.context.fork(), number)
        made.flow = its
        made.client_state = made.state_done
        made.server_state = made.state_stream_response_body
        return made

    def handler(self, hooks: list[str]) -> Any:
        """Return what carries commands out; *hooks* takes the hooks that run."""

        async def take(event: events.Event) -> None:
            for command in self.top.handle_event(event):
                if isinstance(command, commands.Log):
                    continue
                assert isinstance(command, commands.StartHook)
                hooks.append(command.name)
                await take(events.HookCompleted(command, None))

        return SimpleNamespace(layer=self.top, server_event=take, transports={})

    def client_stream(self, its: http.HTTPFlow) -> ClientStream:
        found = ClientStream.of(its, self.handler([]))
        assert found is not None
        return found

    def reset(self, its: http.HTTPFlow) -> tuple[bool, list[str]]:
        """Reset a stream; return whether it was found, and the hooks that ran."""
        hooks: list[str] = []

        async def ask() -> bool:
            client_stream = ClientStream.of(its, self.handler(hooks))
            if client_stream is None:
                return False
            client_stream.reset()
            assert not hooks, "mitmproxy was in the middle of an event"
            await asyncio.sleep(0.01)
            return True

        return asyncio.run(ask()), hooks


@pytest.mark.parametrize("tunnelled", [False, True])
def test_other_streams_go_on(*, tunnelled: bool) -> None:
    made = Connections(tunnelled=tunnelled)
    made.reset(made.flows[1])
    assert made.flows[0].error is None
    kept = made.streams[0]
    assert made.http.streams == {1: kept}
    assert kept.server_state == kept.state_stream_response_body


@pytest.mark.parametrize("tunnelled", [False, True])
def test_stream_that_cannot_be_found_is_not_reset(*, tunnelled: bool) -> None:
    made = Connections(tunnelled=tunnelled)
    assert made.reset(chat_flow()) == (False, [])


# -- what is sent ------------------------------------------------------------------


def test_more_of_an_answer_is_sent_while_it_streams() -> None:
    made = Connections(tunnelled=True)
    client_stream = made.client_stream(made.flows[1])
    assert asyncio.run(client_stream.send(lambda: b": still there\n\n"))
    assert made.client.events == [ResponseData(3, b": still there\n\n")]
    assert asyncio.run(client_stream.send(lambda: b""))
    assert len(made.client.events) == 1, "an empty chunk would be the end"
    stream = made.streams[1]
    stream.server_state = stream.state_done
    assert not asyncio.run(client_stream.send(lambda: b"too late"))
    stream.server_state = stream.state_wait_for_response_headers
    assert not asyncio.run(client_stream.send(lambda: b"too early"))
    assert len(made.client.events) == 1
    assert made.top.command_sources == made.http.command_sources == {}


@pytest.mark.parametrize("tunnelled", [False, True])
def test_answer_is_ended_although_its_provider_has_not(*, tunnelled: bool) -> None:
    made = Connections(tunnelled=tunnelled)
    reads: list[bytes] = []
    response = made.flows[1].response
    assert response is not None

    def read(data: bytes) -> list[bytes]:
        reads.append(data)
        return [b"last"]

    response.stream = read
    client_stream = made.client_stream(made.flows[1])
    assert asyncio.run(client_stream.end(lambda: (b"rest", True)))
    assert reads == [b""]
    assert made.client.events == [
        ResponseData(3, b"rest"),
        ResponseData(3, b"last"),
        ResponseEndOfMessage(3),
    ]
    (dropped,) = made.provider.events
    assert isinstance(dropped, RequestProtocolError)
    assert made.flows[1].error is None
    assert 3 not in made.http.streams
    assert made.top.command_sources == made.http.command_sources == {}
    assert not asyncio.run(client_stream.end(lambda: (b"again", True)))
    assert len(made.client.events) == 3


def test_answer_that_is_not_over_only_gets_what_waits() -> None:
    made = Connections()
    client_stream = made.client_stream(made.flows[1])
    assert not asyncio.run(client_stream.end(lambda: (b"rest", False)))
    assert not asyncio.run(client_stream.end(lambda: (b"", False)))
    assert made.client.events == [ResponseData(3, b"rest")]
    made.streams[1].client_state = made.streams[1].state_stream_request_body
    assert not asyncio.run(client_stream.end(lambda: (b"", True)))
    assert made.provider.events == []


@pytest.mark.parametrize("ends", [False, True])
def test_break_is_an_end_for_the_client_of_an_ended_answer(*, ends: bool) -> None:
    made = Connections()
    its = made.flows[1]
    results: list[bool] = []

    class Handler:
        layer, transports = made.top, dict[Any, Any]()

        async def server_event(self, event: events.Event) -> None:
            for command in made.top.handle_event(event):
                assert isinstance(command, commands.StartHook)
                assert command.name == "error"
                found = ClientStream.of(its, self)  # type: ignore[arg-type]
                assert found is not None
                results.append(await found.end(lambda: (b"rest", ends)))
                await self.server_event(events.HookCompleted(command, None))

    async def act() -> None:
        found = ClientStream.of(its, Handler())  # type: ignore[arg-type]
        assert found is not None
        broke = ResponseProtocolError(3, "it broke", ErrorCode.GENERIC_SERVER_ERROR)
        await found._wake(lambda: iter([ReceiveHttp(broke)]))  # type: ignore[arg-type, return-value]

    asyncio.run(act())
    assert results == [ends]
    *rest, last = made.client.events
    assert rest == [ResponseData(3, b"rest")]
    assert isinstance(last, ResponseEndOfMessage if ends else ResponseProtocolError)
    assert 3 not in made.http.streams


def failing(version: str = "HTTP/1.1", method: str = "POST") -> Connections:
    """Return connections whose second flow has no answer yet, and an error."""
    made = Connections()
    made.streams[1].server_state = made.streams[1].state_wait_for_response_headers
    made.flows[1].request.http_version = version
    made.flows[1].request.method = method
    return made


def answered(made: Connections, *, ends: bool = True) -> tuple[bool, http.Response]:
    response = http.Response.make(502, b"{}")
    client_stream = made.client_stream(made.flows[1])
    return asyncio.run(client_stream.answer(response, ends=ends)), response


@pytest.mark.parametrize("method", ["POST", "HEAD"])
def test_answer_is_sent_in_mitmproxys_place(method: str) -> None:
    made = failing(method=method)
    lost = made.flows[0].server_conn
    lost.error, lost.state = "refused", connection.ConnectionState.CLOSED
    sent, response = answered(made)
    assert sent
    body = [] if method == "HEAD" else [ResponseData(3, b"{}")]
    head = ResponseHeaders(3, response)
    assert made.client.events == [head, *body, ResponseEndOfMessage(3)]
    assert "connection" not in response.headers
    stream = made.streams[1]
    assert stream.client_state == stream.state_errored, "mitmproxy would go on"
    assert lost.error is None, "mitmproxy would not connect again"


@pytest.mark.parametrize("version", ["HTTP/1.1", "HTTP/2.0", "HTTP/3"])
def test_http_1_closes_where_mitmproxy_reports_the_error(version: str) -> None:
    made = failing(version)
    sent, response = answered(made, ends=False)
    assert sent
    closes = version == "HTTP/1.1"
    assert (response.headers.get("connection") == "close") is closes
    end = [] if closes else [ResponseEndOfMessage(3)]
    assert made.client.events[2:] == end
    stream = made.streams[1]
    assert stream.client_state == stream.state_done


def test_there_is_no_second_answer() -> None:
    made = Connections()
    assert not answered(made)[0]
    assert made.client.events == []


def test_client_that_has_left_gets_nothing() -> None:
    made = failing()
    made.flows[0].client_conn.state = connection.ConnectionState.CAN_WRITE
    assert not answered(made)[0]
    assert made.client.events == []


@pytest.mark.parametrize(
    ("kind", "state", "is_open"),
    [
        (Http1Server, {"stream_id": 3}, True),
        (Http1Server, {"stream_id": 5}, False),
        (Http2Server, {"is_open_for_us": lambda _, number: number == 3}, True),
        (Http2Server, {"is_open_for_us": lambda _, number: number == 5}, False),
    ],
)
def test_stream_of_the_client_is_open_until_its_end(
    kind: type[Any], state: dict[str, Any], *, is_open: bool
) -> None:
    made = Connections()
    side: Any = type("Side", (kind,), {**state, "__init__": lambda _: None})
    made.http.connections[made.flows[0].client_conn] = side()
    assert made.client_stream(made.flows[1]).is_open is is_open


# -- before a reset ----------------------------------------------------------------


class Buffered(Http2Server):
    """A client's HTTP/2 connection with *data* that waits for its window."""

    is_open = True

    def __init__(self, *data: bytes) -> None:
        waits = collections.deque(SendH2Data(each, end_stream=False) for each in data)
        self.h2_conn = SimpleNamespace(stream_buffers={3: waits})  # type: ignore[assignment]

    def is_open_for_us(self, stream_id: int) -> bool:
        return self.is_open


def drain(side: Any, act: Callable[[], object] = lambda: None) -> None:
    """Wait as long as *side* has data under way; *act* comes meanwhile."""
    made = Connections()
    made.http.connections[made.flows[0].client_conn] = side

    async def wait() -> None:
        asyncio.get_running_loop().call_later(0.05, act)
        await asyncio.wait_for(made.client_stream(made.flows[1]).drain(), 20)

    asyncio.run(wait())


def test_reset_waits_for_what_http_2_holds_back() -> None:
    side = Buffered(b"a", b"b")
    drain(side, side.h2_conn.stream_buffers[3].clear)
    assert not side.h2_conn.stream_buffers[3]


def test_by_http_1_nothing_has_to_be_waited_for() -> None:
    drain(Side())


class Writer:
    closed = False

    def close(self) -> None:
        self.closed = True


def test_connection_that_has_ended_is_closed() -> None:
    made, server = chat_flow(), Proxyserver()
    with (
        taddons.context(server) as context,
        closing(context.master.event_loop),  # mitmproxy 12.0 leaves it open
    ):
        writer = Writer()
        transports = {
            made.client_conn: SimpleNamespace(writer=writer),
            made.server_conn: SimpleNamespace(writer=None),
        }
        handler: Any = SimpleNamespace(transports=transports)
        close(made.client_conn, made.client_conn)
        server.connections[made.client_conn.id] = handler
        assert not writer.closed
        for each in (made.client_conn, made.server_conn, made.server_conn):
            close(made.client_conn, each)
        assert transports == {}
        assert writer.closed


# -- who has given up ------------------------------------------------------------------


@pytest.mark.parametrize("tunnelled", [False, True])
def test_client_that_gave_up_is_known_whoever_is_named(*, tunnelled: bool) -> None:
    made = Connections(tunnelled=tunnelled)
    first, second = map(made.client_stream, made.flows)
    before = second.has_left
    made.streams[1].client_state = made.streams[1].state_errored
    assert (before, second.has_left, first.has_left) == (False, True, False)


def test_client_that_gave_up_is_known_while_a_hook_is_awaited() -> None:
    made = Connections()
    client: Any = made.client
    client.streams = {1: "headers", 3: "headers"}
    first, second = map(made.client_stream, made.flows)
    before = second.has_left
    del client.streams[3]
    assert (before, second.has_left, first.has_left) == (False, True, False)


# -- what is read --------------------------------------------------------------------


def test_nothing_more_is_read_until_others_had_their_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    its = chat_flow()

    async def read(handler: Any) -> list[str]:
        monkeypatch.setattr(
            "llm_normalize.mitm.client_stream.handler_of", lambda _: handler
        )
        done, at_end = list[str](), list[Callable[[], None]]()
        for _ in range(2):  # the second changes nothing
            slow_down(its.client_conn, at_end.append)
            await asyncio.sleep(0)
        lock = getattr(handler, "_drain_lock", None) or asyncio.Lock()

        async def drain_writers() -> None:
            async with lock:
                done.append("read on")

        reading = asyncio.create_task(drain_writers())
        await asyncio.sleep(0.01)
        done.append("others")
        for act in at_end:
            act()
        await reading
        return done

    async def both() -> tuple[list[str], list[str]]:
        lock = asyncio.Lock()
        return await read(SimpleNamespace(_drain_lock=lock)), await read(None)

    slowed, later = asyncio.run(both())
    assert slowed == ["others", "read on"]
    assert later == ["read on", "others"]  # of a mitmproxy that has no such lock


def test_who_waits_already_reads_on_before_the_turn_of_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    done, at_end = list[str](), list[Callable[[], None]]()

    async def read(lock: asyncio.Lock, name: str) -> None:
        async with lock:
            done.append(name)

    async def play() -> None:
        lock = asyncio.Lock()
        handler = SimpleNamespace(_drain_lock=lock)
        monkeypatch.setattr(
            "llm_normalize.mitm.client_stream.handler_of", lambda _: handler
        )
        await lock.acquire()
        first = asyncio.create_task(read(lock, "waits already"))
        await asyncio.sleep(0)
        lock.release()  # nobody has it, but one is about to get it
        slow_down(chat_flow().client_conn, at_end.append)
        assert at_end == []
        await first
        later = asyncio.create_task(read(lock, "comes later"))
        await asyncio.sleep(0.01)
        assert done == ["waits already"]
        (act,) = at_end
        act()
        await later

    asyncio.run(play())
    assert done == ["waits already", "comes later"]


# -- what is received --------------------------------------------------------------


async def parts(*given: bytes | Exception) -> AsyncIterator[bytes]:
    for part in given:
        if isinstance(part, Exception):
            raise part
        yield part


def waiting_for_headers(made: Connections) -> HttpStream:
    """Return the second stream, whose hook for headers is awaited."""
    stream = made.streams[1]
    stream.server_state = stream.state_wait_for_response_headers
    stream.flow.response = http.Response.make(400, b"")
    return stream


def test_body_of_an_answer_is_read_while_its_headers_wait() -> None:
    made = Connections()
    stream = waiting_for_headers(made)
    queue = stream._paused_event_queue
    client_stream = made.client_stream(made.flows[1])

    async def ask() -> bytes | None:
        task = asyncio.create_task(client_stream.body(9))
        await asyncio.sleep(0.001)
        queue.append(ResponseData(3, b"no, "))
        queue.append(ResponseData(3, b"never"))
        await asyncio.sleep(0.02)
        assert not task.done()
        queue.append(ResponseEndOfMessage(3))
        return await task

    assert asyncio.run(ask()) == b"no, never"
    assert asyncio.run(client_stream.body(8)) is None
    client_stream.forget_body()
    assert not queue


def test_body_that_does_not_come_to_its_end_is_not_waited_for() -> None:
    made = Connections()
    queue = waiting_for_headers(made)._paused_event_queue
    client_stream = made.client_stream(made.flows[1])
    broken = ResponseProtocolError(3, "reset", ErrorCode.GENERIC_SERVER_ERROR)
    queue.extend([ResponseData(3, b"no"), broken])
    assert asyncio.run(client_stream.body(9)) is None
    client_stream.forget_body()
    assert [*queue] == [broken]
    queue.clear()
    made.flows[0].client_conn.state = connection.ConnectionState.CLOSED
    assert asyncio.run(client_stream.body(9)) is None


@pytest.mark.parametrize("has_body", [True, False])
def test_another_body_is_received_as_it_arrives(*, has_body: bool) -> None:
    made = Connections(tunnelled=True)
    stream = waiting_for_headers(made)
    response = stream.flow.response
    assert response is not None
    response.stream = lambda data: [data.upper()] if data else []
    client_stream = made.client_stream(made.flows[1])

    async def ask() -> None:
        task = asyncio.create_task(client_stream.receive(parts(b"a", b"", b"b")))
        await asyncio.sleep(0.02)
        assert made.client.events == []
        state = "stream_response_body" if has_body else "consume_response_body"
        stream.server_state = getattr(stream, f"state_{state}")
        await task

    asyncio.run(ask())
    kinds = [type(each) for each in made.client.events]
    headers = [] if has_body else [ResponseHeaders]
    assert kinds == [*headers, ResponseData, ResponseData, ResponseEndOfMessage]
    sent = [each.data for each in made.client.events if isinstance(each, ResponseData)]
    assert sent == [b"A", b"B"]


def test_body_that_fails_breaks_the_answer_off() -> None:
    made = Connections()
    client_stream = made.client_stream(made.flows[1])
    asyncio.run(client_stream.receive(parts(ValueError("it broke off"))))
    (error,) = made.client.events
    assert isinstance(error, ResponseProtocolError)
    assert error.message == "it broke off"


def test_nothing_is_received_for_a_client_that_has_left() -> None:
    made = Connections()
    client_stream = made.client_stream(made.flows[1])
    made.flows[0].client_conn.state = connection.ConnectionState.CLOSED
    asyncio.run(client_stream.receive(parts(b"a")))
    assert made.client.events == []


def test_body_that_nobody_wants_is_not_awaited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_stream_module, "_SECOND", 0.01)
    made = Connections()
    client_stream = made.client_stream(made.flows[1])
    closed: list[bool] = []

    async def body() -> AsyncIterator[bytes]:
        try:
            yield b"a"
            await asyncio.sleep(0.05)
            made.flows[0].client_conn.state = connection.ConnectionState.CLOSED
            await asyncio.Event().wait()
        finally:
            closed.append(True)

    asyncio.run(client_stream.receive(body()))
    assert closed == [True]
    assert [type(each) for each in made.client.events] == [ResponseData]


def test_client_that_is_behind_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Connections()
    client_stream = made.client_stream(made.flows[1])
    looks = [False, True, True]
    monkeypatch.setattr(ClientStream, "is_behind", property(lambda _: looks.pop()))
    asyncio.run(client_stream.receive(parts(b"a")))
    assert looks == []


def test_client_is_behind_as_long_as_it_has_not_taken_all() -> None:
    made = Connections()
    size = 1
    writer: Any = asyncio.StreamWriter.__new__(asyncio.StreamWriter)
    writer._transport = SimpleNamespace(
        get_write_buffer_size=lambda: size, is_closing=lambda: True
    )
    handler = made.handler([])
    handler.transports = {made.flows[0].client_conn: SimpleNamespace(writer=writer)}
    client_stream = ClientStream.of(made.flows[1], handler)
    assert client_stream is not None
    looks = [client_stream.is_behind]
    size = 0
    looks.append(client_stream.is_behind)
    sides: Any = made.http.connections
    side = Http2Server.__new__(Http2Server)
    side.h2_conn = SimpleNamespace(stream_buffers={3: [b"x"]})  # type: ignore[assignment]
    sides[made.flows[0].client_conn] = side
    looks.append(client_stream.is_behind)
    side.h2_conn.stream_buffers.clear()
    looks.append(client_stream.is_behind)
    assert looks == [True, False, True, False]
