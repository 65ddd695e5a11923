"""An HTTP/2 client with many streams at once on its one connection."""

from collections.abc import Callable
from dataclasses import dataclass

import h2.events
from h2.errors import ErrorCodes

from support import Http2Client, Script


@dataclass
class Streamed:
    """One stream, and what has come of its answer.

    Attributes:
        id: Its number on the connection.
        script: What the provider answers.
        body: The bytes so far.
        ended: Whether it came to its end.
        broken: Whether it was reset.
    """

    id: int
    script: Script
    body: bytes = b""
    ended: bool = False
    broken: bool = False


class Http2Streams:
    """Asks many times at once, and reads all answers as they come.

    Args:
        client: The connection.
    """

    def __init__(self, client: Http2Client) -> None:
        self._client = client
        self._streams: dict[int, Streamed] = {}

    def ask(self, script: Script, body: object) -> Streamed:
        """Send a request."""
        stream = self._client.send(script.path, body)
        made = self._streams[stream] = Streamed(stream, script)
        return made

    def cancel(self, stream: Streamed) -> None:
        """Cancel a stream."""
        self._client.h2.reset_stream(stream.id, ErrorCodes.CANCEL)
        self._client.flush()

    def read_until(self, met: Callable[[], bool]) -> None:
        """Read until the condition is *met*."""
        while not met():
            data = self._client.socket.recv(65536)
            assert data, "the connection was closed"
            for event in self._client.h2.receive_data(data):
                self._take(event)
            self._client.flush()

    def _take(self, event: h2.events.Event) -> None:
        if isinstance(event, h2.events.DataReceived):
            self._of(event).body += event.data or b""
            self._client.h2.acknowledge_received_data(
                event.flow_controlled_length or 0, event.stream_id or 0
            )
        elif isinstance(event, h2.events.StreamEnded):
            self._of(event).ended = True
        elif isinstance(event, h2.events.StreamReset):
            self._of(event).broken = True
        else:
            assert not isinstance(event, h2.events.ConnectionTerminated), event

    def _of(
        self,
        event: h2.events.DataReceived | h2.events.StreamEnded | h2.events.StreamReset,
    ) -> Streamed:
        return self._streams[event.stream_id or 0]
