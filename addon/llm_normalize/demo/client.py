"""A client of a provider behind a proxy, which trusts one CA."""

import contextlib
import http.client
import json
import ssl
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from .. import conformance
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
    proxy: tuple[str, int],
    target: tuple[str, int],
    ca: Path,
    *,
    timeout: float,
) -> Iterator[str]:
    """Send a request by HTTPS and yield the events of the answer, without their blank lines.

    Args:
        asked: The request's body.
        proxy: The host and port of the proxy.
        target: Those of the provider.
        ca: The certificate that the client trusts.
        timeout: Seconds for a connection, and for a read.

    Raises:
        RefusedError: Another status than 200.
        OSError: There is no connection, or it broke off.
        HTTPException: The answer broke off, or is not HTTP.
    """
    context = ssl.create_default_context(cafile=str(ca))
    # http.client knows nothing of HTTPS_PROXY and the like, which is wanted here.
    connection = http.client.HTTPSConnection(*proxy, context=context, timeout=timeout)
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


def faults(events: Sequence[str], asked: dict[str, Any]) -> list[str]:
    """The faults of this stream by OpenAI's rules, each as a phrase.

    Args:
        events: One stream, without the blank lines.
        asked: The request's body.
    """
    data = "".join(f"{event}\n\n" for event in events).encode()
    return conformance.check_stream(
        data, conformance.Request.from_body(asked, stream=True)
    )
