"""A client of a provider: it trusts one CA, and yields the events of a stream as they arrive."""

import contextlib
import http.client
import json
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..desktop.local_server import MOST

_WORDS = 400  # bytes of a refusal that are read


class RefusedError(Exception):
    """The answer was none to stream.

    Attributes:
        status: Its status.
        text: The beginning of its body.
    """

    def __init__(self, status: int, text: str) -> None:
        super().__init__(f"status {status}: {text}")
        self.status = status
        self.text = text


def events(
    asked: dict[str, Any],
    place: tuple[str, int],
    target: tuple[str, int] | None,
    ca: Path,
    *,
    timeout: float,
) -> Iterator[str]:
    """Send a request by HTTPS and yield the events of the answer, without their blank lines.

    Args:
        asked: The request's body.
        place: The host and port of the provider, or of the proxy.
        target: The provider's, where *place* is a proxy; None for straight.
        ca: The certificate that the client trusts.
        timeout: Seconds for a connection, and for a read.

    Raises:
        RefusedError: Another status than 200.
        OSError: There is no connection, or it broke off.
        HTTPException: The answer broke off, or is not HTTP.
    """
    context = ssl.create_default_context(cafile=str(ca))
    # http.client knows nothing of HTTPS_PROXY and the like, which is wanted here.
    connection = http.client.HTTPSConnection(*place, context=context, timeout=timeout)
    if target is not None:
        connection.set_tunnel(*target)
    headers = {"content-type": "application/json", "authorization": "Bearer demo"}
    with contextlib.closing(connection):
        sent = json.dumps(asked)
        connection.request("POST", "/v1/chat/completions", sent, headers)
        answer = connection.getresponse()
        if answer.status != http.HTTPStatus.OK:
            text = answer.read(_WORDS).decode(errors="replace")
            raise RefusedError(answer.status, text)
        lines: list[str] = []
        while line := answer.readline(MOST):
            if line.strip(b"\r\n"):
                lines.append(line.decode(errors="replace"))
            elif lines:
                yield "".join(lines).rstrip("\r\n")
                lines = []
        if lines:
            yield "".join(lines).rstrip("\r\n")
