"""What an HTTP/2 provider does on a stream, beside sending DATA."""

from collections.abc import Sequence

from h2.connection import H2Connection
from hyperframe.frame import DataFrame, GoAwayFrame, RstStreamFrame, WindowUpdateFrame

from support import Act

HEAD = [(":status", "200"), ("content-type", "text/event-stream")]
LARGEST = 2**31 - 1
"""The largest stream id, and the largest window."""


def answer(more: Sequence[tuple[str, str]] = (), *, ends: bool = False) -> Act:
    """Send the headers of an answer; *ends* with nothing after them."""

    def act(connection: H2Connection, stream: int) -> None:
        connection.send_headers(stream, [*HEAD, *more], end_stream=ends)

    return act


def interim(status: int) -> Act:
    """Send a 1xx."""

    def act(connection: H2Connection, stream: int) -> None:
        connection.send_headers(stream, [(":status", str(status)), ("link", "</a>")])

    return act


def end(connection: H2Connection, stream: int) -> None:
    """End the stream, as the answer's framing has it."""
    connection.end_stream(stream)


def trailers(connection: H2Connection, stream: int) -> None:
    """End the stream with trailers."""
    connection.send_headers(stream, [("x-brook", "1")], end_stream=True)


# As bare frames from here on: h2 would refuse what a provider should not do.


def reset(code: int) -> Act:
    """Reset the stream."""
    return lambda _, stream: RstStreamFrame(stream, error_code=code).serialize()


def goaway(code: int, last: int | None = None) -> Act:
    """Announce the connection's end, after stream *last*; None for the one at hand."""

    def act(_: H2Connection, stream: int) -> bytes:
        known = stream if last is None else last
        return GoAwayFrame(last_stream_id=known, error_code=code).serialize()

    return act


def overflow(_: H2Connection, stream: int) -> bytes:
    """Enlarge the stream's window beyond all bounds."""
    return WindowUpdateFrame(stream, window_increment=LARGEST).serialize()


def nonsense(_: H2Connection, stream: int) -> bytes:
    """Send data on stream 0, which has none."""
    frame = DataFrame(stream, data=b"x").serialize()
    return frame[:5] + bytes(4) + frame[9:]
