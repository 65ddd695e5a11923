import asyncio
import gc
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from mitmproxy import tls
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layers import modes
from mitmproxy.proxy.layers.http import HttpStream
from mitmproxy.proxy.mode_specs import ProxyMode
from mitmproxy.test import tflow

from llm_normalize import addon, answer_settings
from llm_normalize.exchange.routing_policy import Routing
from llm_normalize.exchange.state import running_answer
from llm_normalize.exchange.stream import keepalive_clock
from llm_normalize.fixes import FIXES
from llm_normalize.mitm.extended_methods import is_extended
from llm_normalize.records import pairs_log
from llm_normalize.records.snapshot import KEY
from llm_normalize.repair.fix import DONE, wire
from llm_normalize.wire.json_text import dumps, loads
from proxies import (
    BAD,
    BAD_BODY,
    FINISH,
    GOOD,
    GOOD_BODY,
    HOST,
    SSE,
    Proxy,
    broken,
    chat_flow,
    fail,
    headers_of,
    messages,
    response_of,
)

# -- options -----------------------------------------------------------------------


@pytest.mark.parametrize(("before", "then"), [(0.005, 0.0005), (0.00025, 0.00025)])
def test_no_thread_holds_streams_up_for_long(
    tmp_path: Path, before: float, then: float
) -> None:
    usual = sys.getswitchinterval()
    sys.setswitchinterval(before)
    try:
        with Proxy(tmp_path) as proxy:
            proxy.context.options.add_option("proxyauth", str, "", "as mitmdump has it")
            proxy.addon.running()
            assert sys.getswitchinterval() == pytest.approx(then)
        assert sys.getswitchinterval() == pytest.approx(before)
    finally:
        sys.setswitchinterval(usual)


def test_nothing_is_remembered_of_a_host_once_the_options_have_changed(
    proxy: Proxy,
) -> None:
    for _ in range(2):
        proxy.set(normalize_hosts=["a.test"])
        assert proxy.stream(chat_flow(host="a.test"), BAD) == GOOD
        assert not hello(proxy, "a.test", ("a.test", 443))
        proxy.set(normalize_hosts=["b.test"])
        other = chat_flow(host="a.test")
        proxy.addon.responseheaders(other)
        assert response_of(other).stream is False
        assert hello(proxy, "a.test", ("a.test", 443))


def test_a_fix_is_skipped_by_the_upstream_s_name_behind_a_kept_host_header(
    proxy: Proxy,
) -> None:
    proxy.set(normalize_skip=[f"{HOST}:data-space-missing"])
    made = chat_flow()
    made.client_conn.proxy_mode = ProxyMode.parse(f"reverse:https://{HOST}")
    made.request.headers["host"] = "localhost:8080"  # keep_host_header
    assert proxy.stream(made, BAD) == BAD


def test_a_running_answer_keeps_the_fixes_it_started_with(proxy: Proxy) -> None:
    stream, body = chat_flow(), chat_flow(request={"model": "m"})
    for each in (stream, body):
        proxy.addon.responseheaders(each)
    proxy.set(normalize_skip=[fix.name for fix in FIXES])
    assert proxy.feed(stream, BAD) == GOOD
    response_of(body).raw_content = dumps(BAD_BODY)
    proxy.addon.response(body)
    assert response_of(body).raw_content != dumps(BAD_BODY)


# -- the path of the log -----------------------------------------------------------


def until_exists(path: Path) -> None:
    """Wait for the log's thread; give up rather than hang."""
    for _ in range(20_000):
        if path.exists():
            return
        time.sleep(0.001)
    pytest.fail("the log's thread did not get there")


def test_a_size_given_later_is_the_running_log_s(proxy: Proxy) -> None:
    proxy.set(normalize_pairs_size="1")
    proxy.stream(chat_flow(), GOOD)
    proxy.set(normalize_pairs_size="2m")
    assert proxy.addon.logs.current is not None
    assert proxy.addon.logs.current.file.size == 2 * 1024 * 1024


def test_a_path_whose_words_contain_a_placeholder_stays(proxy: Proxy) -> None:
    path = proxy.folder / "REPORTS" / "pairs.jsonl"
    proxy.set(normalize_pairs=str(path))
    proxy.stream(chat_flow(), GOOD)
    proxy.close()
    assert path.exists()


def test_a_new_path_counts_for_new_answers_only(proxy: Proxy) -> None:
    running = chat_flow()
    proxy.addon.responseheaders(running)
    path = proxy.folder / "new.jsonl"
    proxy.set(normalize_pairs=str(path))
    new = chat_flow()
    proxy.stream(new, GOOD)
    proxy.feed(running, b"")
    proxy.addon.response(running)
    assert [line["flow"] for line in proxy.records()] == [running.id]
    (line,) = path.read_text().splitlines()
    assert json.loads(line)["flow"] == new.id


def test_a_path_that_comes_back_is_written_again(
    proxy: Proxy, caplog: pytest.LogCaptureFixture
) -> None:
    first, second = (str(proxy.folder / f"{n}.jsonl") for n in (1, 2))
    for path in (first, second, first):
        proxy.set(normalize_pairs=path)
        proxy.stream(chat_flow(), GOOD)
        until_exists(Path(path))  # it holds its lock now
    proxy.close()
    assert len(Path(first).read_text().splitlines()) == 2
    assert messages(caplog) == []


def test_a_log_that_cannot_start_costs_no_repair_and_is_tried_again(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(pairs_log, "PairsLog", fail)
        assert proxy.stream(chat_flow(), BAD) == GOOD
    later = chat_flow()
    assert proxy.stream(later, BAD) == GOOD
    assert {each["flow"] for each in proxy.records()} == {later.id}


# -- commands ----------------------------------------------------------------------


USAGE = b'{"prompt_tokens":7,"completion_tokens":%d,"total_tokens":9}'
CHUNK = (
    b'data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":'
    b'[{"index":0,"delta":{"content":"Hi"},"finish_reason":null}],"usage":%b}\n\n'
)


@pytest.mark.parametrize("mode", ["repair", "observe"])
def test_tokens_are_in_the_record_and_in_the_statistics(
    proxy: Proxy, mode: str
) -> None:
    proxy.set(normalize_mode=mode)
    usage = b"".join(CHUNK % (USAGE % n) for n in range(1, 9))
    made = chat_flow(request={"model": "m", "stream": True})
    proxy.stream(made, usage)
    body = chat_flow(
        request={"model": "m"}, headers={"content-type": "application/json"}
    )
    response_of(body).raw_content = dumps({**GOOD_BODY, "usage": loads(USAGE % 2)})
    proxy.addon.responseheaders(body)
    proxy.respond(body)
    uncounted = {key: GOOD_BODY[key] for key in GOOD_BODY if key != "usage"}
    body = chat_flow(
        request={"model": "m"}, headers={"content-type": "application/json"}
    )
    response_of(body).raw_content = dumps(uncounted)
    proxy.addon.responseheaders(body)
    proxy.respond(body)
    first, second, third = proxy.records("flow")
    assert (first["prompt_tokens"], first["completion_tokens"]) == (7, 8)
    assert (second["prompt_tokens"], second["completion_tokens"]) == (7, 2)
    assert "prompt_tokens" not in third
    rows = cast(list[list[str]], proxy.addon.stats_command())
    assert [row[4:] for row in rows[-2:]] == [
        ["prompt_tokens", "14"],
        ["completion_tokens", "10"],
    ]


def test_an_adaptation_is_made_for_a_host_of_ones_own(proxy: Proxy) -> None:
    proxy.set(normalize_hosts=["127.0.0.1"])
    name = "developer-role-unknown"
    asked = {"model": "m", "messages": [{"role": "developer", "content": "Hi"}]}

    def sent(place: str) -> str:
        made = chat_flow(host=place, request=asked)
        made.response = None
        proxy.addon.requestheaders(made)
        proxy.addon.request(made)
        return str(loads(made.request.content or b"")["messages"][0]["role"])

    assert sent("127.0.0.1:8000") == "developer"
    proxy.set(normalize_adapt=[f"127.0.0.1:8000:{name}"])
    assert sent("127.0.0.1:8000") == "system"
    assert sent("127.0.0.1:8001") == "developer"
    rows = proxy.addon.fixes_command(name)
    hosts = next(row[1] for row in rows if row[0] == "in requests to")
    assert hosts.endswith("api.cloudflare.com, 127.0.0.1:8000")
    proxy.set(normalize_skip=[name])
    assert sent("127.0.0.1:8000") == "developer"


# -- requests ----------------------------------------------------------------------


def test_request_that_another_addon_has_answered_stays(proxy: Proxy) -> None:
    asked = {"model": "m", "prompt_cache_key": "k"}
    made = chat_flow(request=asked)
    proxy.addon.request(made)
    assert made.request.content == dumps(asked)


# -- TLS ---------------------------------------------------------------------------


def hello(
    proxy: Proxy,
    sni: str | None,
    address: tuple[str, int] | None,
    mode: str = "regular",
) -> bool:
    """Tell whether the connection is left closed."""
    client = tflow.tclient_conn()
    client.proxy_mode = ProxyMode.parse(mode)
    context = Context(client, proxy.context.options)
    context.server.address = address
    client_hello = cast(tls.ClientHello, SimpleNamespace(sni=sni))
    data = tls.ClientHelloData(context, client_hello)
    proxy.addon.tls_clienthello(data)
    return data.ignore_connection


@pytest.mark.parametrize(
    ("options", "sni", "address", "closed"),
    [
        ({}, HOST, ("192.0.2.1", 443), False),
        ({}, None, (HOST, 443), False),
        ({}, HOST, None, False),
        ({}, "other.test", (HOST, 443), True),
        ({}, "other.test", ("192.0.2.1", 443), True),
        ({}, None, ("192.0.2.1", 443), True),
        ({}, None, None, False),  # TLS with the proxy itself
        ({"normalize_hosts": ["a.test:8443"]}, "a.test", ("a.test", 443), True),
        ({"normalize_hosts": ["a.test:8443"]}, "a.test", ("192.0.2.1", 8443), False),
        ({"normalize_hosts": ["[::1]:8443"]}, None, ("::1", 8443, 0, 0), False),
        ({"normalize_only": False}, "other.test", ("other.test", 443), False),
        ({"allow_hosts": ["other"]}, "other.test", ("other.test", 443), False),
    ],
)
def test_only_a_listed_host_is_opened_by_its_name_or_else_its_address(
    proxy: Proxy, options: Any, sni: str | None, address: Any, closed: bool
) -> None:
    proxy.set(**options)
    assert hello(proxy, sni, address) is closed


def test_in_reverse_mode_the_upstream_is_ours(proxy: Proxy) -> None:
    assert not hello(proxy, "x", ("x", 443), "reverse:https://other.test")


# -- requests and answers ----------------------------------------------------------


def test_a_request_of_ours_asks_for_a_plain_answer(proxy: Proxy) -> None:
    made = chat_flow()
    made.request.headers["accept-encoding"] = "gzip, br"
    proxy.addon.requestheaders(made)
    assert made.request.headers["accept-encoding"] == "identity"


def test_what_is_observed_keeps_the_headers_of_its_request_and_its_answer(
    proxy: Proxy,
) -> None:
    proxy.set(normalize_mode="observe")
    made = chat_flow(headers={"content-type": "text/plain", "content-encoding": "gzip"})
    made.request.headers["accept-encoding"] = "gzip"
    before = made.get_state()
    proxy.addon.requestheaders(made)
    proxy.addon.responseheaders(made)
    assert callable(response_of(made).stream)
    assert made.get_state() == before


@pytest.mark.parametrize(
    "more", [{"host": "other.test"}, {"path": "/v1/models"}, {"method": "GET"}]
)
def test_any_other_request_is_left_alone(proxy: Proxy, more: dict[str, Any]) -> None:
    made = chat_flow(**more)
    made.request.headers["accept-encoding"] = "gzip"
    before = made.request.get_state()
    proxy.addon.requestheaders(made)
    assert made.request.get_state() == before


def test_the_host_header_names_the_host_too(proxy: Proxy) -> None:
    made = chat_flow(host="192.0.2.1")
    made.request.headers["host"] = HOST
    assert proxy.stream(made, BAD) == GOOD
    assert proxy.records("flow")[0]["host"] == HOST


@pytest.mark.parametrize(
    ("content_type", "expected"),
    [(SSE, True), ("Text/Event-Stream; charset=utf-8", True), ("text/plain", False)],
)
def test_other_event_streams_of_an_opened_host_pass_at_once(
    proxy: Proxy, content_type: str, expected: bool
) -> None:
    made = chat_flow(path="/v1/completions", headers={"content-type": content_type})
    before = headers_of(made)
    proxy.addon.responseheaders(made)
    assert response_of(made).stream is expected
    assert headers_of(made) == before
    assert proxy.records() == []


@pytest.mark.parametrize(
    ("path", "ends"), [("/v1/chat/completions", ["error"]), ("/v1/models", [])]
)
def test_an_answer_that_never_arrived_has_a_record_if_it_would_be_ours(
    proxy: Proxy, path: str, ends: list[str]
) -> None:
    made = chat_flow(path=path)
    made.response = None
    proxy.addon.requestheaders(made)
    broken(made, "no")
    made.live = False  # as a kill leaves it
    proxy.addon.error(made)
    proxy.addon.error(made)
    assert [each["end"] for each in proxy.records()] == ends


@pytest.mark.parametrize(
    "name", ["Rewriter", "PageOrStream", "asked_of", "AnswerRecord"]
)
def test_a_bug_at_the_start_lets_the_answer_pass_as_it_is(
    proxy: Proxy,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    name: str,
) -> None:
    monkeypatch.setattr(running_answer, name, fail)
    headers = {"content-type": SSE, "content-length": "9", "content-encoding": "gzip"}
    made = chat_flow(headers=headers)
    proxy.addon.responseheaders(made)
    assert headers_of(made) == headers
    assert response_of(made).stream is True
    assert messages(caplog, "ERROR") == [f"normalize: {HOST} passes as it is"]


# -- the end of it all -------------------------------------------------------------


@pytest.mark.parametrize("is_broken", [False, True])
def test_what_waits_in_a_stream_is_sent_before_mitmproxy_ends(
    proxy: Proxy,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    *,
    is_broken: bool,
) -> None:
    sent = list[bytes]()

    async def send(make: Callable[[], bytes]) -> None:
        sent.append(fail() if is_broken else make())

    client_stream = SimpleNamespace(of=lambda _: SimpleNamespace(send=send))
    monkeypatch.setattr(keepalive_clock, "ClientStream", client_stream)
    made = chat_flow()
    proxy.addon.responseheaders(made)
    out = proxy.feed(made, GOOD.removesuffix(DONE))
    assert out + wire([FINISH, DONE]) == GOOD
    proxy.context.master.should_exit.set()

    async def end() -> None:
        proxy.addon.done()

    loop = proxy.context.master.event_loop
    loop.set_task_factory(asyncio.eager_task_factory)  # as mitmproxy does
    loop.run_until_complete(end())
    loop.set_task_factory(None)
    assert sent == ([] if is_broken else [wire([FINISH])])
    said = "does not let an addon send while nothing is received"
    assert [said in each for each in messages(caplog)].count(True) == is_broken
    assert proxy.end() == "upstream-broke"


def test_what_is_loaded_at_the_start_is_frozen_and_at_a_reload_nothing(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy.context.options.add_option("proxyauth", str, "", "as mitmdump has it")
    proxy.addon.running()
    try:
        assert gc.get_freeze_count() > 0
    finally:
        proxy.addon.done()
    assert gc.get_freeze_count() == 0
    assert proxy.addon._pauses._collected not in gc.callbacks
    addons = proxy.context.master.addons
    monkeypatch.setattr(addons.get("proxyserver"), "is_running", True)
    addons.remove(proxy.addon)
    reloaded = addon.Normalize()
    addons.add(reloaded)
    reloaded.running()
    assert gc.get_freeze_count() == 0
    reloaded.done()


def test_option_that_changes_during_a_request_counts_for_its_answer(
    proxy: Proxy,
) -> None:
    made = chat_flow()
    answer, made.response = made.response, None
    proxy.addon.requestheaders(made)
    proxy.addon.request(made)
    made.response = answer
    proxy.set(normalize_mode="observe")
    assert proxy.stream(made, BAD) == BAD


def test_mitmproxy_is_as_it_was_once_the_addon_goes(proxy: Proxy) -> None:
    changed = [
        (HttpStream, "state_wait_for_request_headers"),
        (modes.ReverseProxy, "finish_start"),
    ]
    assert all(is_extended(*each) for each in changed)
    proxy.addon.done()
    assert not any(is_extended(*each) for each in changed)


@pytest.mark.parametrize("shown", [True, False])
def test_pairs_are_kept_where_somebody_can_look_at_them(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch, *, shown: bool
) -> None:
    monkeypatch.setattr(answer_settings, "is_shown", lambda: shown)
    made = chat_flow()
    assert proxy.stream(made, BAD) == GOOD
    kept = made.metadata[KEY]
    assert bool(kept["pairs"]) is shown
    assert bool(kept["received"]) is shown
    assert bool(kept["left_out"]) is not shown
    assert kept["fixes"] != []


def test_start_with_bad_values_takes_the_others_and_lets_nobody_in(
    proxy: Proxy, caplog: pytest.LogCaptureFixture
) -> None:
    options = proxy.context.options
    given = {"gate": "brook", "mode": "watch", "skip": ["no-such"]}
    for name, value in {**given, "hosts": ["a.test"]}.items():
        options._options[f"normalize_{name}"].value = value
    proxy.addon.configure(options.keys())
    begins = (
        "normalize: normalize_gate: ",
        "normalize: invalid normalize_mode ",
        "normalize: invalid normalize_skip ",
    )
    found = messages(caplog, "ERROR")
    assert list(map(str.startswith, found, begins)) == [True] * len(found)
    assert len(found) == len(begins)
    assert "brook" not in caplog.text
    assert proxy.addon.options.hosts.include("a.test", 443)
    made = chat_flow(host="a.test")
    proxy.addon.requestheaders(made)
    assert response_of(made).status_code == 401


def test_an_exchange_is_closed_once(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = chat_flow()
    proxy.addon.requestheaders(made)
    exchange = proxy.addon._exchanges.of(made)
    ended: list[object] = []
    monkeypatch.setattr(Routing, "end", lambda _, each: ended.append(each))
    proxy.addon._close(exchange)
    proxy.addon._close(exchange)
    assert ended == [exchange]
