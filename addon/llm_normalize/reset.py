"""One HTTP/2 stream, reset on both sides while the others of its connections go on.

mitmproxy has no command for it: that a flow is killed it sees at the answer's end only
(mitmproxy #4711), and a connection that is closed takes every stream with it. But its
layers can ask to be woken, and an HTTP layer knows by `command_sources` which of its
layers did (mitmproxy/proxy/layers/http/__init__.py, the same in 12.0 and 12.2). So a
layer is woken that says what a client's own reset would say: of a flow that was killed,
mitmproxy then resets the client's stream, too.
"""

import contextlib
from collections.abc import Sequence

from mitmproxy import flow, http
from mitmproxy.proxy import commands, events, layer, server
from mitmproxy.proxy.layers.http import DropStream, HttpLayer, HttpStream
from mitmproxy.utils import asyncio_utils

with contextlib.suppress(ImportError):  # names of its own, which a later one may change
    from mitmproxy.proxy.layers.http._base import ReceiveHttp
    from mitmproxy.proxy.layers.http._events import ErrorCode, RequestProtocolError


class _Reset(layer.Layer):
    """Resets *stream* when it is woken."""

    def __init__(self, stream: HttpStream) -> None:
        super().__init__(stream.context.fork())
        killed = flow.Error.KILLED_MESSAGE
        reset = RequestProtocolError(stream.stream_id, killed, ErrorCode.CANCEL)
        # mitmproxy keeps a killed flow as long as its client's connection.
        self._commands = ReceiveHttp(reset), DropStream(stream.stream_id)

    def _handle_event(self, event: events.Event) -> layer.CommandGenerator[None]:
        yield from self._commands


def reset_stream(handler: server.ConnectionHandler, asked: http.HTTPFlow) -> bool:
    """Reset the stream of a flow right after what is under way.

    Args:
        handler: mitmproxy's handler of the flow's client.
        asked: The flow, whose answer has begun.

    Returns:
        Whether the stream was found.

    Raises:
        Exception: This mitmproxy is another than it is made for; nothing was done.
    """
    path = _path(handler.layer.context.layers, asked)
    if not path:
        return False
    inner, stream = path[-1]
    reset = _Reset(stream)
    wakeup = commands.RequestWakeup(0)
    for outer, tunnel in path[:-1]:
        outer.command_sources[wakeup] = tunnel
    inner.command_sources[wakeup] = reset
    # Later, since mitmproxy is in the middle of an event of this stream.
    asyncio_utils.create_task(
        handler.server_event(events.Wakeup(wakeup)),
        name="reset of a stream",
        keep_ref=True,
        client=asked.client_conn.peername,
    )
    return True


def has_left(handler: server.ConnectionHandler, asked: http.HTTPFlow) -> bool:
    """Tell whether the client of a flow has given its stream up.

    What mitmproxy says of a reset names the client, whoever sent it; its layers know. A
    stream that waits for a hook hears of it later, its client's connection at once.

    Args:
        handler: mitmproxy's handler of the flow's client.
        asked: The flow, which is not over.

    Raises:
        Exception: It cannot be told.
    """
    *_, (layer_, stream) = _path(handler.layer.context.layers, asked)
    if stream.client_state == stream.state_errored:
        return True
    connection = layer_.connections[layer_.context.client]
    return stream.stream_id not in getattr(connection, "streams", (stream.stream_id,))


def _path(
    layers: Sequence[layer.Layer], asked: http.HTTPFlow
) -> list[tuple[HttpLayer, HttpStream]]:
    """Return the HTTP layers down to the stream of a flow, each with its stream.

    There are two where the client came by CONNECT: its tunnel is a stream of the first.
    """
    for outer in layers:
        if isinstance(outer, HttpLayer):
            for stream in outer.streams.values():
                if getattr(stream, "flow", None) is asked:
                    return [(outer, stream)]
                inside = stream.context.layers
                below = _path(inside[inside.index(stream) + 1 :], asked)
                if below:
                    return [(outer, stream), *below]
    return []
