"""The addon in mitmproxy's own test context, with its hooks called directly."""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NoReturn, Self

import pytest
from mitmproxy import connection, ctx, flow, http, tls
from mitmproxy.addons.proxyserver import Proxyserver
from mitmproxy.proxy.context import Context
from mitmproxy.test import taddons, tflow
from OpenSSL import SSL

from llm_normalize.addon import Normalize
from llm_normalize.mitm import certificate_proof
from llm_normalize.repair.fix import DONE, chunk, completion, wire
from llm_normalize.wire.json_text import dumps

HOST = "integrate.api.nvidia.com"
CHAT = "/v1/chat/completions"
SSE = "text/event-stream"

HEAD = chunk({"role": "assistant", "content": ""})
TEXT = chunk({"content": "Hi"})
FINISH = chunk({}, finish="stop")
GOOD = wire([HEAD, TEXT, FINISH, DONE])
BAD = GOOD.replace(b"data: ", b"data:")
GOOD_BODY = completion({"role": "assistant", "content": "Hi"})
BAD_BODY = completion({"role": "assistant", "content": None})


def chat_flow(
    *,
    host: str = HOST,
    path: str = CHAT + "?key=SECRET",
    method: str = "POST",
    request: Any = None,
    status: int = 200,
    headers: dict[str, str] | None = None,
) -> http.HTTPFlow:
    """Return a flow whose response's headers have come."""
    asked = {"model": "m", "stream": True} if request is None else request
    made = tflow.tflow(resp=True)
    made.request = http.Request.make(
        method,
        f"https://{host}{path}",
        dumps(asked),
    )
    made.request.headers["authorization"] = "Bearer nvapi-key"
    response = response_of(made)
    response.status_code = status
    response.headers = http.Headers()
    for name, value in (headers or {"content-type": SSE}).items():
        response.headers[name] = value
    response.raw_content = None
    return made


def broken(made: http.HTTPFlow, message: str, *, connected: bool = True) -> None:
    """Let *made* break off, with what mitmproxy says of it."""
    made.error = flow.Error(message)
    if not connected:
        made.client_conn.timestamp_end = 1.0
        made.client_conn.state = connection.ConnectionState.CLOSED


def response_of(made: http.HTTPFlow) -> http.Response:
    assert made.response is not None
    return made.response


def connected(made: http.HTTPFlow, *, verify: bool = True, sni: str = "") -> None:
    """Let mitmproxy have chosen a connection, whose server has proved its name.

    Args:
        made: The flow, whose request is about to leave.
        verify: Whether the certificate was looked at.
        sni: The name that was asked for, if not the request's host.
    """
    server = connection.Server(address=(made.request.host, made.request.port))
    server.state = connection.ConnectionState.OPEN
    server.sni = sni or made.request.host
    server.timestamp_tls_setup = 1.0
    context = SSL.Context(SSL.TLS_CLIENT_METHOD)
    context.set_verify(SSL.VERIFY_PEER if verify else SSL.VERIFY_NONE)
    at = Context(made.client_conn, ctx.options)
    certificate_proof.remember(tls.TlsData(server, at, SSL.Connection(context)))
    made.server_conn = server


def headers_of(made: http.HTTPFlow) -> dict[str, str]:
    return dict(response_of(made).headers)


def messages(caplog: pytest.LogCaptureFixture, level: str = "WARNING") -> list[str]:
    return [each.getMessage() for each in caplog.records if each.levelname == level]


def fail(*_: Any, **__: Any) -> NoReturn:
    """Stand in for what has a bug."""
    raise RuntimeError


class Listening:
    """A server of the proxy that listens somewhere."""

    def __init__(self, *places: tuple[Any, ...]) -> None:
        self.is_running = True
        self.listen_addrs = places


class Proxy:
    """One addon, whose files are in *folder*; ends as mitmproxy does."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.addon = Normalize()
        self.context = taddons.context(Proxyserver(), self.addon)
        self.log = folder / "normalize" / "pairs-8080.jsonl"
        self.set(confdir=str(folder))

    def __enter__(self) -> Self:
        self.context.__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
        self.context.__exit__(*exc)
        self.context.master.event_loop.close()  # mitmproxy 12.0 leaves it open

    def set(self, **options: Any) -> None:
        self.context.options.update(**options)

    def stream(self, made: http.HTTPFlow, *reads: bytes) -> bytes:
        """Play a streamed answer to its clean end."""
        self.addon.responseheaders(made)
        out = b"".join(self.feed(made, each) for each in (*reads, b""))
        self.addon.response(made)
        return out

    def feed(self, made: http.HTTPFlow, data: bytes) -> bytes:
        stream = response_of(made).stream
        assert callable(stream)
        out = stream(data)
        assert isinstance(out, list)
        return b"".join(out)

    def body(self, made: http.HTTPFlow, data: bytes) -> bytes | None:
        """Play an answer in one piece."""
        self.addon.responseheaders(made)
        response = response_of(made)
        assert not response.stream
        response.raw_content = data
        self.addon.response(made)
        return response.raw_content

    def respond(self, made: http.HTTPFlow) -> None:
        """Let the response hook run to its end, as mitmproxy does."""
        waits = self.addon.response(made)
        if waits is not None:
            self.context.master.event_loop.run_until_complete(waits)

    def records(self, kind: str | None = None) -> list[Any]:
        """Close the addon, and return what the pairs log says."""
        self.close()
        if not self.log.exists():
            return []
        lines = map(json.loads, self.log.read_text("utf-8").splitlines())
        return [line for line in lines if kind in (None, line["type"])]

    def close(self) -> None:
        """End the addon as mitmproxy does when it exits."""
        self.context.master.should_exit.set()
        self.addon.done()

    def end(self) -> Any:
        """Return the one flow record's `end`."""
        (record,) = self.records("flow")
        return record["end"]


@pytest.fixture
def proxy(tmp_path: Path) -> Iterator[Proxy]:
    """The addon with its default options; it ends with the test."""
    with Proxy(tmp_path) as made:
        yield made


@pytest.fixture
def proxy_server() -> Iterator[Proxyserver]:
    """mitmproxy's own addon of servers, without any."""
    made = Proxyserver()
    with taddons.context(made) as context, closing(context.master.event_loop):
        yield made
