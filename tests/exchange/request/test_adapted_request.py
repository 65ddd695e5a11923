import gzip
from collections.abc import Callable
from typing import Any

import brotli
import pytest

import zstd_frames
from llm_normalize.exchange.message.request_facts import named_host
from llm_normalize.exchange.request.adapted_request import Adapted, adapt, client_of
from llm_normalize.request.adaptation import Adaptation, HostAdaptations
from llm_normalize.request.adaptations import ADAPTATIONS
from llm_normalize.request.refusals.learned_rejections import Learned
from proxies import HOST, Proxy, chat_flow, fail, messages

KEYED = {"model": "m", "prompt_cache_key": "k", "n": 1}


def adapted(
    made: Any,
    learned: Learned | None = None,
    *,
    but: tuple[str, ...] = (),
    observe: bool = False,
) -> Adapted | None:
    every = [each for each in ADAPTATIONS if each.name not in but]
    hosts = made.request.host, named_host(made.request)
    here = HostAdaptations.of(every, hosts, made.request.port)
    return adapt(made, here, learned or Learned(), b"", observe=observe)


def test_observing_tells_and_leaves_the_request() -> None:
    made = chat_flow(request=KEYED)
    before = made.request.raw_content
    assert adapted(made, observe=True)
    assert made.request.raw_content == before


def test_body_that_is_compressed_stays_so() -> None:
    made = chat_flow(request=KEYED)
    made.request.headers["content-encoding"] = "gzip"
    made.request.content = made.request.raw_content
    assert adapted(made)
    assert gzip.decompress(made.request.raw_content or b"") == b'{"model":"m","n":1}'


@pytest.mark.parametrize(
    ("encoding", "bomb"),
    [
        ("br", lambda: brotli.compress(bytes(100_000_000), quality=3)),
        ("zstd", lambda: zstd_frames.compress(bytes(100_000_000))),
        (
            "gzip, br",
            lambda: brotli.compress(gzip.compress(bytes(100_000_000)), quality=3),
        ),
        ("", lambda: b"[" + b"{}," * 60_000 + b"{}]"),
    ],
)
def test_bomb_stays_and_the_log_says_so(
    encoding: str, bomb: Callable[[], bytes], caplog: pytest.LogCaptureFixture
) -> None:
    made, body = chat_flow(), bomb()
    if encoding:
        made.request.headers["content-encoding"] = encoding
    made.request.raw_content = body
    assert adapted(made) is None
    assert made.request.raw_content is body
    (said,) = messages(caplog)
    assert said.startswith(f"normalize: a request to {HOST} is not read (it ")
    assert said.endswith("nothing in it is adapted or mapped")


def test_what_it_keeps_it_keeps_exactly() -> None:
    made = chat_flow()
    text = rb'{"a":1.10,"prompt_cache_key":"k","b":"\ud83d","c":12345678901234567890,"d":1e400}'
    made.request.content = text
    assert adapted(made)
    assert made.request.raw_content == text.replace(b'"prompt_cache_key":"k",', b"")


def test_bug_in_an_adaptation_leaves_the_request(
    proxy: Proxy, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = chat_flow(request=KEYED)
    before, made.response = made.request.raw_content, None
    monkeypatch.setattr(Adaptation, "is_for_model", fail)
    proxy.addon.requestheaders(made)
    proxy.addon.request(made)
    assert made.request.raw_content == before
    assert messages(caplog, "ERROR") == [
        f"normalize: a request to {HOST} passes as it is"
    ]


def client(path: str = "/v1/chat/completions", **more: str) -> bytes:
    """Return the mark of a client with these headers, on its address `peer`."""
    made = chat_flow(path=path)
    peer = more.pop("peer", "10.0.0.1")
    if proxyauth := more.pop("proxyauth", ""):
        made.metadata["proxyauth"] = (proxyauth, "secret")
    made.client_conn.peername = (peer, 5)
    made.request.headers.clear()
    for name, value in more.items():
        made.request.headers[name.replace("_", "-")] = value
    return client_of(made)


def test_client_is_known_by_its_credentials_and_its_address() -> None:
    mine = client(authorization="Bearer canary-1")
    assert mine == client(authorization="Bearer canary-1", idempotency_key="x")
    assert mine == client(authorization="Bearer canary-1", cookie="a=1")
    more = "/v1/chat/completions?api-version=1"
    assert mine == client(more, authorization="Bearer canary-1")
    others = [
        client(),
        client(authorization="Bearer canary-2"),
        client(authorization="Bearer canary-1", peer="10.0.0.2"),
        client(x_api_key="Bearer canary-1"),
        client("/v1/chat/completions?key=canary-1"),
        client("/v1/chat/completions?api-key=canary-1"),
        client(api_key="canary-1"),
        client(authorization="Bearer canary-1", api_key="canary-1"),
        client(proxyauth="canary-1"),
        client(proxyauth="canary-2"),
        client(cookie="a=canary-1"),
        client(cookie="a=canary-2"),
    ]
    assert len({mine, *others}) == len(others) + 1
    assert b"canary" not in b"".join(others)
    some = client(api_key="canary-1", authorization="Bearer canary-1")
    assert some == client(authorization="Bearer canary-1", api_key="canary-1")
