"""An HTTP/2 client with many streams at once on its one connection."""

from collections.abc import Callable
from dataclasses import dataclass

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
        self._streams: list[Streamed] = []

    def ask(self, script: Script, body: object) -> Streamed:
        """Send a request."""
        made = Streamed(self._client.send(script.path, body), script)
        self._streams.append(made)
        return made

    def cancel(self, stream: Streamed) -> None:
        """Cancel a stream."""
        self._client.cancel(stream.id)

    def read_until(self, met: Callable[[], bool]) -> None:
        """Read until the condition is *met*."""
        while not met():
            self._client.read()
            for each in self._streams:
                self._take(each)

    def _take(self, stream: Streamed) -> None:
        reply = self._client.replies[stream.id]
        while not reply.news.empty():
            news = reply.news.get_nowait()
            if news is None:
                stream.ended, stream.broken = reply.done, not reply.done
            else:
                stream.body += news[0]
                self._client.acknowledge(stream.id, news[1])
