import asyncio
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from mitmproxy import flow, http
from mitmproxy.options import Options
from mitmproxy.proxy import commands, events
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layers import modes
from mitmproxy.proxy.layers.http import HttpLayer, HTTPMode, HttpStream
from mitmproxy.proxy.layers.http._events import (
    ErrorCode,
    RequestProtocolError,
    ResponseProtocolError,
)

from llm_normalize.reset import has_left, reset_stream
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
        tunnelled: Whether the client came by CONNECT.
        count: How many streams.
    """

    def __init__(self, *, tunnelled: bool = False, count: int = 2) -> None:
        self.flows = [chat_flow() for _ in range(count)]
        self.client, self.provider = Side(), Side()
        first = self.flows[0]
        context = Context(first.client_conn, Options())
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

    def reset(self, its: http.HTTPFlow) -> tuple[bool, list[str]]:
        """Reset a stream; return whether it was found, and the hooks that ran."""
        hooks: list[str] = []

        async def take(event: events.Event) -> None:
            for command in self.top.handle_event(event):
                assert isinstance(command, commands.StartHook)
                hooks.append(command.name)
                await take(events.HookCompleted(command, None))

        async def ask() -> bool:
            handler: Any = SimpleNamespace(layer=self.top, server_event=take)
            found = reset_stream(handler, its)
            assert not hooks, "mitmproxy was in the middle of an event"
            await asyncio.sleep(0.01)
            return found

        return asyncio.run(ask()), hooks


@pytest.mark.parametrize("tunnelled", [False, True])
def test_one_stream_is_reset_on_both_sides(*, tunnelled: bool) -> None:
    made = Connections(tunnelled=tunnelled)
    assert made.reset(made.flows[1]) == (True, ["error"])
    killed = flow.Error.KILLED_MESSAGE
    cancel = RequestProtocolError(3, killed, ErrorCode.CANCEL)
    assert made.provider.events == [cancel]
    assert made.client.events == [ResponseProtocolError(3, "killed", ErrorCode.KILL)]
    assert made.flows[1].error is not None
    assert made.flows[1].error.msg == killed


@pytest.mark.parametrize("tunnelled", [False, True])
def test_other_streams_go_on(*, tunnelled: bool) -> None:
    made = Connections(tunnelled=tunnelled)
    made.reset(made.flows[1])
    assert made.flows[0].error is None
    kept = made.streams[0]
    assert made.http.streams == {1: kept}
    assert kept.server_state == kept.state_stream_response_body


def test_nothing_is_kept_of_a_stream_that_was_reset() -> None:
    made = Connections(tunnelled=True)
    made.reset(made.flows[1])
    assert made.top.command_sources == made.http.command_sources == {}


def test_stream_that_has_ended_meanwhile_is_left_alone() -> None:
    made = Connections()
    handler: Any = SimpleNamespace(layer=made.top, server_event=None)

    async def ask() -> None:
        woken = asyncio.Event()

        async def take(event: events.Event) -> None:
            assert list(made.top.handle_event(event)) == []
            woken.set()

        handler.server_event = take
        assert reset_stream(handler, made.flows[1])
        del made.http.streams[3]
        await woken.wait()

    asyncio.run(ask())
    assert made.client.events == made.provider.events == []


@pytest.mark.parametrize("tunnelled", [False, True])
def test_stream_that_cannot_be_found_is_not_reset(*, tunnelled: bool) -> None:
    made = Connections(tunnelled=tunnelled)
    assert made.reset(chat_flow()) == (False, [])


def test_stream_that_has_no_request_yet_is_passed_over() -> None:
    made = Connections()
    made.http.streams[5] = HttpStream(made.http.context.fork(), 5)
    assert made.reset(chat_flow()) == (False, [])


# -- who has given up ------------------------------------------------------------------


@pytest.mark.parametrize("tunnelled", [False, True])
def test_client_that_gave_up_is_known_whoever_is_named(*, tunnelled: bool) -> None:
    made = Connections(tunnelled=tunnelled)
    handler: Any = SimpleNamespace(layer=made.top)
    asked = made.flows[1]
    assert not has_left(handler, asked)
    made.streams[1].client_state = made.streams[1].state_errored
    assert has_left(handler, asked)
    assert not has_left(handler, made.flows[0])


def test_client_that_gave_up_is_known_while_a_hook_is_awaited() -> None:
    made = Connections()
    handler: Any = SimpleNamespace(layer=made.top)
    client: Any = made.client
    client.streams = {1: "headers", 3: "headers"}
    assert not has_left(handler, made.flows[1])
    del client.streams[3]
    assert has_left(handler, made.flows[1])
    assert not has_left(handler, made.flows[0])


def test_of_a_stream_that_cannot_be_found_nothing_is_known() -> None:
    handler: Any = SimpleNamespace(layer=Connections().top)
    with pytest.raises(ValueError, match="unpack"):
        has_left(handler, chat_flow())
