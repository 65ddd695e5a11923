"""mitmproxy addon for comparison: decodes and encodes every event, and repairs none."""

import json

from mitmproxy import http


class Recoder:
    """One stream; what it writes is the input, if that was compact JSON."""

    def __init__(self) -> None:
        self._rest = b""

    def __call__(self, data: bytes) -> list[bytes]:
        """Return what is to be sent for one read."""
        *events, self._rest = (self._rest + data).split(b"\n\n")
        out = b"".join(map(self._recode, events))
        if not data and self._rest:
            out, self._rest = out + self._rest, b""
        return [out] if out else []

    def _recode(self, event: bytes) -> bytes:
        payload = event.removeprefix(b"data: ")
        if payload != b"[DONE]":
            value = json.loads(payload)
            text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
            payload = text.encode()
        return b"data: " + payload + b"\n\n"


def responseheaders(flow: http.HTTPFlow) -> None:
    """Stream the answer through a recoder."""
    assert flow.response is not None
    flow.response.stream = Recoder()
