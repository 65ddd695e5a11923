"""mitmproxy's own layers in this process, without sockets: what passing an event costs.

As mitmproxy's tests drive them (test/mitmproxy/proxy): an HTTP layer in reverse mode,
whose commands are answered here.
"""

import time
from collections import deque
from collections.abc import Callable

from mitmproxy import connection, http, options
from mitmproxy.addons.proxyserver import Proxyserver
from mitmproxy.proxy import commands, context, events, mode_specs
from mitmproxy.proxy.layers.http import HttpLayer, HTTPMode
from mitmproxy.proxy.layers.http._hooks import HttpResponseHeadersHook

from workshop.bench.provider import HEAD
from workshop.bench.traffic import HOST, Plan

type Stream = Callable[[bytes], list[bytes]] | bool


class Layers:
    """One answer on its way through mitmproxy, its headers passed already.

    Args:
        stream: What `response.stream` is set to.
    """

    def __init__(self, stream: Stream) -> None:
        self.sent: list[bytes] = []
        """What has gone to the client."""
        self._stream = stream
        defined = options.Options()
        Proxyserver().load(defined)  # it only adds options
        client = connection.Client(
            peername=(HOST, 1),
            sockname=(HOST, 2),
            timestamp_start=time.time(),
            state=connection.ConnectionState.OPEN,
            proxy_mode=mode_specs.ProxyMode.parse(f"reverse:http://{HOST}:3"),
        )
        self._context = context.Context(client, defined)
        self._server = self._context.server
        self._server.address = (HOST, 3)
        self._layer = HttpLayer(self._context, HTTPMode.transparent)
        self._run(events.Start())
        self._run(events.DataReceived(client, Plan("good", 40).request(HOST)))
        self.receive(HEAD)

    def receive(self, data: bytes) -> None:
        """Let *data* come from the provider."""
        self._run(events.DataReceived(self._server, data))

    def _run(self, event: events.Event) -> None:
        todo = deque([event])
        while todo:
            for command in self._layer.handle_event(todo.popleft()):
                self._answer(command, todo)

    def _answer(self, command: commands.Command, todo: deque[events.Event]) -> None:
        if isinstance(command, commands.SendData):
            if command.connection is self._context.client:
                self.sent.append(command.data)
        elif isinstance(command, commands.StartHook):
            if isinstance(command, HttpResponseHeadersHook):
                self._begin(command.flow)
            if command.blocking:
                todo.append(events.HookCompleted(command))
        elif isinstance(command, commands.OpenConnection):
            self._server = command.connection  # one of its own
            self._server.state = connection.ConnectionState.OPEN
            todo.append(events.OpenConnectionCompleted(command, None))

    def _begin(self, flow: http.HTTPFlow) -> None:
        assert flow.response is not None
        flow.response.stream = self._stream
