"""What mitmproxy calls with each read of a streamed response. It must never raise.

mitmproxy loses the read's bytes if the callable raises, and ends an HTTP/1.1 answer if
it returns `b""`, alone or in a list (mitmproxy/proxy/layers/http/_http1.py, #8242): so
everything is caught, and nothing to send is `[]`. `b""` comes in at the end, but also
for an empty HTTP/2 frame in mid-stream: repair goes on after it.
"""

import logging
from collections.abc import Callable

from .decoding import CorruptBodyError, Decoder
from .pipeline import Pipeline

logger = logging.getLogger(__name__)


class Rewriter:
    """One streamed response: wire bytes in, wire bytes out.

    Args:
        pipeline: Repairs the stream.
        decoder: Undoes the content encoding.
        repair: False only watches: the bytes leave as they came, still encoded.
        give_up: Called when a compressed body turns out corrupt after its header was
            dropped; breaks the answer off so that the client notices.
        sent: Called with the bytes that leave.
        label: Names the stream in log lines.
    """

    def __init__(
        self,
        pipeline: Pipeline,
        decoder: Decoder,
        *,
        repair: bool = True,
        give_up: Callable[[], None] = lambda: None,
        sent: Callable[[bytes], None] = lambda _: None,
        label: str = "stream",
    ) -> None:
        self.pipeline = pipeline
        self.bytes_in = 0
        self.bytes_out = 0
        self.given_up = False
        """Whether the answer was broken off because it was corrupt."""
        self.on_end: Callable[[], None] = lambda: None
        self._decoder: Decoder | None = decoder
        self._repair = repair
        self._give_up = give_up
        self._sent = sent
        self._label = label
        self._corrupt = False

    def __call__(self, data: bytes) -> list[bytes]:
        """Return what is to be sent for one read; `b""` is the stream's end."""
        self.bytes_in += len(data)
        out = b"".join(self._pieces(data))
        sent = self._leave(out if self._repair else data)
        if not data:
            self.on_end()
        return sent

    def _leave(self, data: bytes) -> list[bytes]:
        self.bytes_out += len(data)
        if not data:
            return []
        self._sent(data)
        return [data]

    def _pieces(self, data: bytes) -> list[bytes]:
        out: list[bytes] = []
        try:
            if data and self._decoder is not None and not self._corrupt:
                for piece in self._decoder.feed(data):
                    out += self.pipeline.feed(piece)
            elif not data:
                out += self.pipeline.end()
        except CorruptBodyError as error:
            self._corrupt = True
            logger.warning(
                "%s: the compressed body is corrupt (%s)%s",
                self._label,
                error,
                "; the answer is broken off" if self._repair else "",
            )
            if self._repair:
                self.given_up = True
                self._give_up()
        return out
