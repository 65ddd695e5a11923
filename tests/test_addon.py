import gzip
import io
import json
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from mitmproxy import connection, contentviews, exceptions, flow, http, tls
from mitmproxy.addons.proxyserver import Proxyserver
from mitmproxy.io import FlowReader, FlowWriter
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.mode_specs import ProxyMode
from mitmproxy.test import taddons, tflow

from llm_normalize import addon as module
from llm_normalize.addon import Normalize
from llm_normalize.chunk import dumps
from llm_normalize.fix import DONE, chunk, completion, wire
from llm_normalize.fixes import FIXES
from llm_normalize.record import KEY
from llm_normalize.selection import PROVIDERS

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


class Proxy:
    """The addon in mitmproxy's own test context, with its hooks called directly."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.addon = Normalize()
        self.context = taddons.context(Proxyserver(), self.addon)
        self.log = folder / "normalize" / "pairs-8080.jsonl"
        self.set(confdir=str(folder))

    def set(self, **options: Any) -> None:
        self.context.options.update(**options)

    def flow(
        self,
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
        assert made.response is not None
        made.response.status_code = status
        made.response.headers = http.Headers()
        for name, value in (headers or {"content-type": SSE}).items():
            made.response.headers[name] = value
        made.response.raw_content = None
        return made

    def stream(self, made: http.HTTPFlow, *reads: bytes) -> bytes:
        """Play a streamed answer to its clean end."""
        self.addon.responseheaders(made)
        out = b"".join(self.feed(made, each) for each in (*reads, b""))
        self.addon.response(made)
        return out

    def feed(self, made: http.HTTPFlow, data: bytes) -> bytes:
        assert made.response is not None
        assert callable(made.response.stream)
        out = made.response.stream(data)
        assert isinstance(out, list)
        return b"".join(out)

    def body(self, made: http.HTTPFlow, data: bytes) -> bytes | None:
        """Play an answer in one piece."""
        self.addon.responseheaders(made)
        assert made.response is not None
        assert not made.response.stream
        made.response.raw_content = data
        self.addon.response(made)
        return made.response.raw_content

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
    made = Proxy(tmp_path)
    with made.context:
        yield made
        made.close()


def response_of(made: http.HTTPFlow) -> http.Response:
    assert made.response is not None
    return made.response


def headers_of(made: http.HTTPFlow) -> dict[str, str]:
    return dict(response_of(made).headers)


def messages(caplog: pytest.LogCaptureFixture, level: str = "WARNING") -> list[str]:
    return [each.getMessage() for each in caplog.records if each.levelname == level]


def until_exists(path: Path) -> None:
    """Wait for the log's thread; give up rather than hang."""
    for _ in range(20_000):
        if path.exists():
            return
        time.sleep(0.001)
    pytest.fail("the log's thread did not get there")


# -- options -----------------------------------------------------------------------


def test_the_defaults(proxy: Proxy) -> None:
    options = proxy.context.options
    assert options.normalize_hosts == list(PROVIDERS)
    assert options.normalize_only is True
    assert options.normalize_mode == "repair"
    assert options.normalize_skip == []
    assert options.normalize_pairs_size == "64m"
    assert proxy.addon.name == "llm_normalize"


@pytest.mark.usefixtures("proxy")
def test_the_view_is_there() -> None:
    assert "before/after" in contentviews.registry


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("normalize_hosts", ["a.test", "b..test"], "'b..test': give `host`"),
        ("normalize_hosts", ["https://a.test"], "'https://a.test': give a host, not"),
        ("normalize_skip", ["no-such-fix"], "'no-such-fix' names no fix; the command"),
        ("normalize_skip", ["a.test:no-such"], "'a.test:no-such' names no fix"),
        ("normalize_skip", ["b..test:content-null"], "'b..test:content-null': give"),
        ("normalize_pairs_size", "large", "'large' is no size; give a number of bytes"),
        ("normalize_pairs_size", "0", "'0' is no size"),
        ("normalize_pairs_size", "-5", "'-5' is no size"),
        ("normalize_pairs_size", "", "'' is no size"),
        ("normalize_mode", "watch", "'watch'"),
    ],
)
def test_a_bad_value_is_refused_by_name_and_the_old_one_stays(
    proxy: Proxy, option: str, value: Any, said: str
) -> None:
    old = getattr(proxy.context.options, option)
    state = (proxy.addon.hosts, proxy.addon.skips)
    with pytest.raises(exceptions.OptionsError) as caught:
        proxy.set(**{option: value})
    assert option in str(caught.value)
    assert said in str(caught.value)
    assert getattr(proxy.context.options, option) == old
    assert proxy.addon.hosts.include(HOST, 443)
    assert proxy.addon.skips == state[1]


def test_hosts_may_change_while_running(proxy: Proxy) -> None:
    proxy.set(normalize_hosts=["a.test"])
    assert proxy.stream(proxy.flow(host="a.test"), BAD) == GOOD
    other = proxy.flow()
    proxy.addon.responseheaders(other)
    assert response_of(other).stream is False


def test_skipped_fixes_are_not_applied(proxy: Proxy) -> None:
    proxy.set(normalize_skip=["data-space-missing"])
    assert proxy.stream(proxy.flow(), BAD) == BAD


def test_a_fix_may_be_skipped_on_one_host(proxy: Proxy) -> None:
    proxy.set(normalize_skip=["api.groq.com:data-space-missing", "x.test:1:bom-sent"])
    assert proxy.stream(proxy.flow(host="api.groq.com"), BAD) == BAD
    assert proxy.stream(proxy.flow(), BAD) == GOOD


def test_a_size_given_later_is_the_running_log_s(proxy: Proxy) -> None:
    proxy.set(normalize_pairs_size="1")
    proxy.stream(proxy.flow(), GOOD)
    proxy.set(normalize_pairs_size="2m")
    assert proxy.addon._log is not None
    assert proxy.addon._log.size == 2 * 1024 * 1024


def test_an_empty_path_turns_the_log_off(proxy: Proxy) -> None:
    proxy.set(normalize_pairs="")
    assert proxy.stream(proxy.flow(), BAD) == GOOD
    assert not (proxy.folder / "normalize").exists()
    assert proxy.addon._log is None


def test_the_log_is_named_for_the_port(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = proxy.context.master.addons.get("proxyserver")
    monkeypatch.setattr(server, "listen_addrs", lambda: [("127.0.0.1", 9090)])
    proxy.stream(proxy.flow(), GOOD)
    proxy.close()
    assert (proxy.folder / "normalize" / "pairs-9090.jsonl").exists()


def test_the_port_that_is_asked_for_counts_before_there_is_one(proxy: Proxy) -> None:
    proxy.set(listen_port=7070)
    proxy.stream(proxy.flow(), GOOD)
    proxy.close()
    assert (proxy.folder / "normalize" / "pairs-7070.jsonl").exists()


def test_a_path_whose_words_contain_a_placeholder_stays(proxy: Proxy) -> None:
    path = proxy.folder / "REPORTS" / "pairs.jsonl"
    proxy.set(normalize_pairs=str(path))
    proxy.stream(proxy.flow(), GOOD)
    proxy.close()
    assert path.exists()


def test_a_new_path_counts_for_new_answers_only(proxy: Proxy) -> None:
    running = proxy.flow()
    proxy.addon.responseheaders(running)
    path = proxy.folder / "new.jsonl"
    proxy.set(normalize_pairs=str(path))
    new = proxy.flow()
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
        proxy.stream(proxy.flow(), GOOD)
        until_exists(Path(path))  # it holds its lock now
    proxy.close()
    assert len(Path(first).read_text().splitlines()) == 2
    assert messages(caplog) == []


def test_a_path_that_cannot_be_had_costs_the_log_only(proxy: Proxy) -> None:
    try:
        proxy.set(normalize_pairs="~no-such-user-at-all/pairs.jsonl")
    except exceptions.OptionsError:
        return  # refusing it is as good
    assert proxy.stream(proxy.flow(), BAD) == GOOD


def test_a_running_answer_keeps_the_fixes_it_started_with(proxy: Proxy) -> None:
    stream, body = proxy.flow(), proxy.flow(request={"model": "m"})
    for each in (stream, body):
        proxy.addon.responseheaders(each)
    proxy.set(normalize_skip=[fix.name for fix in FIXES])
    assert proxy.feed(stream, BAD) == GOOD
    response_of(body).raw_content = dumps(BAD_BODY)
    proxy.addon.response(body)
    assert response_of(body).raw_content != dumps(BAD_BODY)


def test_a_running_answer_keeps_the_mode_it_started_with(proxy: Proxy) -> None:
    made = proxy.flow()
    proxy.addon.responseheaders(made)
    proxy.set(normalize_mode="observe")
    assert proxy.feed(made, BAD) == GOOD


# -- commands ----------------------------------------------------------------------


def test_stats_count_what_was_repaired(proxy: Proxy) -> None:
    proxy.stream(proxy.flow(), BAD)
    proxy.stream(proxy.flow(), GOOD)
    rows = cast(list[list[str]], proxy.addon.stats_command())
    assert rows[1:] == [[HOST, "m", "2", "1", "data-space-missing", "4"]]


def test_fixes_lists_all_and_says_where_one_is_skipped(proxy: Proxy) -> None:
    proxy.set(normalize_skip=["content-null", "*.a.test:content-null", "bom-sent"])
    head, *rows = cast(list[list[str]], proxy.addon.fixes_command())
    assert head == ["fix", "skipped", "change"]
    assert [row[0] for row in rows] == [fix.name for fix in FIXES]
    assert {row[0]: row[1] for row in rows if row[1]} == {
        "bom-sent": "everywhere",
        "content-null": "everywhere, on *.a.test",
    }


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
    ("sni", "address", "closed"),
    [
        (HOST, (HOST, 443), False),
        (HOST, ("192.0.2.1", 443), False),
        (None, (HOST, 443), False),
        ("other.test", (HOST, 443), False),
        (HOST, None, False),
        ("other.test", ("other.test", 443), True),
        ("other.test", ("192.0.2.1", 443), True),
        (None, ("192.0.2.1", 443), True),
        (None, None, False),  # TLS with the proxy itself
    ],
)
def test_only_a_listed_host_is_opened_by_its_name_or_address(
    proxy: Proxy, sni: str | None, address: tuple[str, int] | None, closed: bool
) -> None:
    assert hello(proxy, sni, address) is closed


def test_the_port_decides_as_well(proxy: Proxy) -> None:
    proxy.set(normalize_hosts=["a.test:8443"])
    assert hello(proxy, "a.test", ("a.test", 443))
    assert not hello(proxy, "a.test", ("192.0.2.1", 8443))


def test_an_ipv6_address_is_one(proxy: Proxy) -> None:
    proxy.set(normalize_hosts=["[::1]:8443"])
    made = cast(tuple[str, int], ("::1", 8443, 0, 0))
    assert not hello(proxy, None, made)


def test_every_host_is_opened_when_only_is_off(proxy: Proxy) -> None:
    proxy.set(normalize_only=False)
    assert not hello(proxy, "other.test", ("other.test", 443))


def test_the_user_s_allow_hosts_come_first(proxy: Proxy) -> None:
    proxy.set(allow_hosts=["other"])
    assert not hello(proxy, "other.test", ("other.test", 443))


def test_in_reverse_mode_every_host_is_opened(proxy: Proxy) -> None:
    assert not hello(proxy, "x", ("x", 443), "reverse:https://other.test")


def distrust(
    proxy: Proxy,
    sni: str | None,
    address: tuple[str, int] | None,
    error: str | None = "(sent alert: unknown ca)",
) -> None:
    client = tflow.tclient_conn()
    client.sni = sni
    client.error = error
    context = Context(client, proxy.context.options)
    context.server.address = address
    proxy.addon.tls_failed_client(tls.TlsData(client, context))


def test_a_distrustful_client_is_told_once_a_host_what_to_do(
    proxy: Proxy, caplog: pytest.LogCaptureFixture
) -> None:
    for sni in (HOST, HOST, "a.test", HOST):
        distrust(proxy, sni, (HOST, 443))
    assert len(messages(caplog)) == 2
    assert HOST in messages(caplog)[0]
    assert str(proxy.folder / "mitmproxy-ca-cert.pem") in messages(caplog)[0]
    assert "a.test" in messages(caplog)[1]


@pytest.mark.parametrize("error", [None, "The client disconnected."])
def test_a_client_that_fails_for_another_reason_is_told_nothing(
    proxy: Proxy, caplog: pytest.LogCaptureFixture, error: str | None
) -> None:
    distrust(proxy, HOST, (HOST, 443), error)
    assert messages(caplog) == []


@pytest.mark.parametrize(
    ("address", "named"), [(("192.0.2.1", 443), "to 192.0.2.1:"), (None, "to ?:")]
)
def test_without_a_name_the_address_is_told(
    proxy: Proxy,
    caplog: pytest.LogCaptureFixture,
    address: tuple[str, int] | None,
    named: str,
) -> None:
    distrust(proxy, None, address)
    assert named in messages(caplog)[0]


# -- which answers -----------------------------------------------------------------


def test_a_request_of_ours_asks_for_a_plain_answer(proxy: Proxy) -> None:
    made = proxy.flow()
    made.request.headers["accept-encoding"] = "gzip, br"
    proxy.addon.requestheaders(made)
    assert made.request.headers["accept-encoding"] == "identity"


@pytest.mark.parametrize(
    "more", [{"host": "other.test"}, {"path": "/v1/models"}, {"method": "GET"}]
)
def test_any_other_request_is_left_alone(proxy: Proxy, more: dict[str, Any]) -> None:
    made = proxy.flow(**more)
    made.request.headers["accept-encoding"] = "gzip"
    before = made.request.get_state()
    proxy.addon.requestheaders(made)
    assert made.request.get_state() == before


def test_observing_leaves_the_request_alone(proxy: Proxy) -> None:
    proxy.set(normalize_mode="observe")
    made = proxy.flow()
    before = made.request.get_state()
    proxy.addon.requestheaders(made)
    assert made.request.get_state() == before


def test_a_host_that_is_not_listed_is_left_alone(proxy: Proxy) -> None:
    made = proxy.flow(host="other.test")
    before = response_of(made).get_state()
    proxy.addon.responseheaders(made)
    proxy.addon.response(made)
    assert response_of(made).get_state() == before
    assert response_of(made).stream is False
    assert proxy.records() == []


def test_the_host_header_names_the_host_too(proxy: Proxy) -> None:
    made = proxy.flow(host="192.0.2.1")
    made.request.headers["host"] = HOST
    assert proxy.stream(made, BAD) == GOOD
    assert proxy.records("flow")[0]["host"] == HOST


def test_in_reverse_mode_the_upstream_is_always_ours(proxy: Proxy) -> None:
    made = proxy.flow(host="other.test")
    made.client_conn.proxy_mode = ProxyMode.parse("reverse:https://other.test")
    assert proxy.stream(made, BAD) == GOOD


def test_a_fix_is_skipped_by_the_upstream_s_name_behind_a_kept_host_header(
    proxy: Proxy,
) -> None:
    proxy.set(normalize_skip=[f"{HOST}:data-space-missing"])
    made = proxy.flow()
    made.client_conn.proxy_mode = ProxyMode.parse(f"reverse:https://{HOST}")
    made.request.headers["host"] = "localhost:8080"  # keep_host_header
    assert proxy.stream(made, BAD) == BAD


@pytest.mark.parametrize(
    ("content_type", "expected"),
    [(SSE, True), ("Text/Event-Stream; charset=utf-8", True), ("text/plain", False)],
)
def test_other_event_streams_of_an_opened_host_pass_at_once(
    proxy: Proxy, content_type: str, expected: bool
) -> None:
    made = proxy.flow(path="/v1/responses", headers={"content-type": content_type})
    before = headers_of(made)
    proxy.addon.responseheaders(made)
    assert response_of(made).stream is expected
    assert headers_of(made) == before
    assert proxy.records() == []


def test_another_addon_s_streaming_stays(proxy: Proxy) -> None:
    made = proxy.flow(path="/v1/responses")
    response_of(made).stream = bytes.upper
    proxy.addon.responseheaders(made)
    assert response_of(made).stream == bytes.upper


@pytest.mark.parametrize("status", [400, 429, 500, 503])
def test_a_refused_stream_is_buffered(proxy: Proxy, status: int) -> None:
    made = proxy.flow(status=status, headers={"content-type": "text/plain"})
    body = proxy.body(made, b"no such model")
    assert body is not None
    assert json.loads(body)["error"]["message"] == "no such model"
    assert response_of(made).status_code == status
    assert headers_of(made) == {
        "content-type": "application/json",
        "content-length": str(len(body)),
    }


def test_a_stream_that_another_addon_streams_stays(
    proxy: Proxy, caplog: pytest.LogCaptureFixture
) -> None:
    made = proxy.flow()
    response_of(made).stream = bytes.upper
    proxy.addon.responseheaders(made)
    assert response_of(made).stream == bytes.upper
    assert messages(caplog) == [
        f"normalize: another addon streams {HOST}; it stays as it is"
    ]
    proxy.addon.response(made)
    assert proxy.end() == "complete"


def test_a_body_that_another_addon_streams_stays(proxy: Proxy) -> None:
    made = proxy.flow(request={"model": "m"})
    response_of(made).stream = bytes.upper
    proxy.addon.responseheaders(made)
    response_of(made).raw_content = dumps(BAD_BODY)  # store_streamed_bodies
    proxy.addon.response(made)
    assert response_of(made).raw_content == dumps(BAD_BODY)
    assert [line["type"] for line in proxy.records()] == ["flow"]


def test_an_encoding_that_cannot_be_undone_passes_streamed(
    proxy: Proxy, caplog: pytest.LogCaptureFixture
) -> None:
    headers = {"content-type": SSE, "content-encoding": "zstd", "content-length": "9"}
    made = proxy.flow(headers=headers)
    proxy.addon.responseheaders(made)
    assert response_of(made).stream is True
    assert headers_of(made) == headers
    assert "not undone (zstd)" in messages(caplog)[0]
    proxy.addon.response(made)
    (record,) = proxy.records()
    assert (record["end"], record["changed"]) == ("complete", 0)


def test_what_was_streamed_already_is_not_repaired_in_the_saved_flow(
    proxy: Proxy,
) -> None:
    # mitmproxy streams what is large (stream_large_bodies), and may store it as well.
    made = proxy.flow(request={"model": "m"})
    response_of(made).stream = True
    proxy.addon.responseheaders(made)
    response_of(made).raw_content = dumps(BAD_BODY)
    proxy.addon.response(made)
    assert response_of(made).raw_content == dumps(BAD_BODY)
    assert [line["type"] for line in proxy.records()] == ["flow"]


# -- headers of a stream -----------------------------------------------------------


@pytest.mark.parametrize(
    ("client", "server", "before", "after"),
    [
        ("HTTP/1.1", "HTTP/1.1", {"content-length": "9"}, "chunked"),
        ("HTTP/1.1", "HTTP/1.1", {"transfer-encoding": "chunked"}, "chunked"),
        ("HTTP/1.1", "HTTP/1.1", {}, None),  # ends with its connection
        ("HTTP/1.1", "HTTP/2.0", {}, "chunked"),
        ("HTTP/1.1", "HTTP/2.0", {"content-length": "9"}, "chunked"),
        ("HTTP/1.1", "HTTP/3", {}, "chunked"),
        ("HTTP/1.1", "HTTP/1.0", {}, None),
        # A 1.0 answer cannot be chunked (RFC 9112, section 6.1).
        ("HTTP/1.1", "HTTP/1.0", {"content-length": "9"}, None),
        ("HTTP/1.0", "HTTP/1.1", {"transfer-encoding": "chunked"}, None),
        ("HTTP/1.0", "HTTP/1.1", {"content-length": "9"}, None),
        ("HTTP/2.0", "HTTP/2.0", {"content-length": "9"}, None),
        ("HTTP/2.0", "HTTP/1.1", {"content-length": "9"}, None),
    ],
)
def test_a_stream_is_framed_for_its_client(
    proxy: Proxy, client: str, server: str, before: dict[str, str], after: str | None
) -> None:
    made = proxy.flow(headers={"content-type": SSE, "x": "y", **before})
    made.request.http_version = client
    response_of(made).http_version = server
    proxy.addon.responseheaders(made)
    framing = {"transfer-encoding": after} if after else {}
    assert headers_of(made) == {"content-type": SSE, "x": "y", **framing}


def test_an_encoded_stream_leaves_decoded(proxy: Proxy) -> None:
    made = proxy.flow(headers={"content-type": SSE, "content-encoding": "gzip"})
    assert proxy.stream(made, gzip.compress(BAD)) == GOOD
    assert headers_of(made) == {"content-type": SSE}


@pytest.mark.parametrize("kind", ["application/json", "text/plain; charset=utf-8", ""])
def test_what_is_streamed_is_sent_as_an_event_stream(proxy: Proxy, kind: str) -> None:
    made = proxy.flow(headers={"content-type": kind} if kind else {"x": "y"})
    proxy.addon.responseheaders(made)
    content_type = response_of(made).headers.get("content-type", "")
    assert content_type.partition(";")[0] == SSE


# -- streams -----------------------------------------------------------------------


def test_a_stream_is_repaired_as_it_passes(proxy: Proxy) -> None:
    made = proxy.flow()
    proxy.addon.responseheaders(made)
    half = BAD.index(b"\n\n") + 2
    assert proxy.feed(made, BAD[:half]) == wire([HEAD])
    assert proxy.feed(made, BAD[half:]) == wire([TEXT, FINISH, DONE])
    assert proxy.feed(made, b"") == b""
    proxy.addon.response(made)
    *pairs, record = proxy.records()
    assert [(each["type"], each["n"]) for each in pairs] == [
        ("pair", 0),
        ("pair", 1),
        ("pair", 2),
        ("pair", 3),
    ]
    assert pairs[3]["before"] == "data:[DONE]\n\n"
    assert pairs[3]["after"] == ["data: [DONE]\n\n"]
    expected = {
        "type": "flow",
        "flow": made.id,
        "host": HOST,
        "path": CHAT,
        "status": 200,
        "model": "m",
        "stream": True,
        "events": 4,
        "changed": 4,
        "fixes": {"data-space-missing": 4},
        "bytes_in": len(BAD),
        "bytes_out": len(GOOD),
        "end": "complete",
    }
    assert {key: record[key] for key in expected} == expected
    assert "mode" not in record


def test_a_good_stream_leaves_as_it_came_and_has_a_record(proxy: Proxy) -> None:
    assert proxy.stream(proxy.flow(), GOOD[:50], GOOD[50:]) == GOOD
    (record,) = proxy.records()
    assert (record["changed"], record["fixes"], record["end"]) == (0, {}, "complete")


def test_what_was_sent_and_changed_is_kept_with_the_flow(proxy: Proxy) -> None:
    made = proxy.flow()
    proxy.stream(made, BAD)
    assert response_of(made).raw_content == GOOD
    assert made.metadata[KEY]["changed"] == 4
    assert made.metadata[KEY]["end"] == "complete"
    file = io.BytesIO()
    FlowWriter(file).add(made)
    file.seek(0)
    (read,) = FlowReader(file).stream()
    assert read.metadata[KEY] == made.metadata[KEY]


def test_a_body_that_mitmproxy_stored_stays(proxy: Proxy) -> None:
    made = proxy.flow()
    proxy.addon.responseheaders(made)
    proxy.feed(made, BAD)
    response_of(made).data.content = b"stored"  # store_streamed_bodies
    proxy.addon.response(made)
    assert response_of(made).raw_content == b"stored"


def test_a_repair_is_said_in_one_line(
    proxy: Proxy, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    proxy.stream(proxy.flow(), BAD)
    proxy.stream(proxy.flow(), GOOD)
    assert messages(caplog, "INFO") == [
        f"normalize: {HOST} m: 4 of 4 events repaired (data-space-missing 4)"
    ]


def test_secrets_of_the_request_are_in_no_log(
    proxy: Proxy, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    made = proxy.flow(status=401, headers={"content-type": "text/plain"})
    secrets = {
        "authorization": "bearer nvapi-SECRET1",
        "api-key": "SECRET2",
        "x-api-key": "SECRET3",
        "x-goog-api-key": "SECRET4",
        "cookie": "a=SECRET5",
        "proxy-authorization": "Basic SECRET6",
    }
    for name, value in secrets.items():
        made.request.headers[name] = value
    told = "bad keys: nvapi-SECRET1 SECRET2 SECRET3 SECRET4 a=SECRET5 SECRET6"
    body = proxy.body(made, told.encode())
    assert body is not None
    assert b"SECRET1" in body  # the client gets the provider's words
    proxy.close()
    assert "SECRET" not in proxy.log.read_text()
    assert "SECRET" not in caplog.text


def test_a_placeholder_for_a_key_leaves_the_log_readable(proxy: Proxy) -> None:
    # Clients of local servers have to send some key, and send "x" or "none".
    made = proxy.flow()
    made.request.headers["authorization"] = "Bearer x"
    proxy.stream(made, wire([chunk({"content": "x"})]).replace(b"data: ", b"data:"))
    assert '"content":"x"' in proxy.records("pair")[0]["before"]


# -- observe -----------------------------------------------------------------------


def test_observing_changes_neither_bytes_nor_headers(proxy: Proxy) -> None:
    proxy.set(normalize_mode="observe")
    data = gzip.compress(BAD)
    headers = {
        "content-type": SSE,
        "content-encoding": "gzip",
        "content-length": str(len(data)),
    }
    made = proxy.flow(headers=headers)
    assert proxy.stream(made, data[:30], data[30:]) == data
    assert headers_of(made) == headers
    assert response_of(made).content == BAD
    *pairs, record = proxy.records()
    assert len(pairs) == 4
    assert {each["mode"] for each in (*pairs, record)} == {"observe"}
    assert record["bytes_out"] == len(data)


def test_observing_leaves_a_body_alone(
    proxy: Proxy, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    proxy.set(normalize_mode="observe")
    made = proxy.flow(request={"model": "m"}, headers={"content-type": "text/plain"})
    assert proxy.body(made, dumps(BAD_BODY)) == dumps(BAD_BODY)
    assert headers_of(made) == {"content-type": "text/plain"}
    assert "1 of 1 events would be repaired" in messages(caplog, "INFO")[0]
    record = proxy.records("flow")[0]
    assert (record["mode"], record["changed"]) == ("observe", 1)


# -- bodies ------------------------------------------------------------------------


def test_a_body_is_repaired_whole(proxy: Proxy) -> None:
    made = proxy.flow(
        request={"model": "m"}, headers={"content-type": "application/json; x=y"}
    )
    before = dumps(BAD_BODY)
    body = proxy.body(made, before)
    assert body is not None
    assert json.loads(body)["choices"][0]["message"]["content"] == ""
    assert headers_of(made) == {
        "content-type": "application/json; x=y",
        "content-length": str(len(body)),
    }
    pair, record = proxy.records()
    assert (pair["n"], pair["before"], pair["after"]) == (
        0,
        before.decode(),
        [body.decode()],
    )
    expected = {
        "stream": False,
        "events": 1,
        "changed": 1,
        "bytes_in": len(before),
        "bytes_out": len(body),
        "end": "complete",
    }
    assert {key: record[key] for key in expected} == expected
    assert made.metadata[KEY]["changed"] == 1


def test_a_good_body_leaves_as_it_came(proxy: Proxy) -> None:
    data = json.dumps(GOOD_BODY, indent=1).encode()
    made = proxy.flow(request={"model": "m"}, headers={"content-type": "text/plain"})
    assert proxy.body(made, data) == data
    assert headers_of(made) == {"content-type": "text/plain"}
    (record,) = proxy.records()
    assert (record["events"], record["changed"]) == (1, 0)


def test_an_encoded_body_is_repaired_and_encoded_again(proxy: Proxy) -> None:
    headers = {"content-type": "application/json", "content-encoding": "gzip"}
    made = proxy.flow(request={"model": "m"}, headers=headers)
    body = proxy.body(made, gzip.compress(dumps(BAD_BODY)))
    assert body is not None
    message = json.loads(gzip.decompress(body))["choices"][0]["message"]
    assert message["content"] == ""
    assert headers_of(made)["content-length"] == str(len(body))


def test_a_corrupt_body_passes_as_it_is(proxy: Proxy) -> None:
    headers = {"content-type": "application/json", "content-encoding": "gzip"}
    made = proxy.flow(status=400, headers=headers)
    assert proxy.body(made, b"no gzip at all") == b"no gzip at all"
    assert headers_of(made) == headers
    assert proxy.end() == "complete"


@pytest.mark.parametrize("status", [200, 500])
def test_an_empty_body_stays_empty(proxy: Proxy, status: int) -> None:
    made = proxy.flow(request={"model": "m"}, status=status)
    assert proxy.body(made, b"") == b""
    (record,) = proxy.records()
    assert (record["events"], record["bytes_out"]) == (0, 0)


# -- ends --------------------------------------------------------------------------


def broken(made: http.HTTPFlow, message: str, *, connected: bool = True) -> None:
    made.error = flow.Error(message)
    if not connected:
        made.client_conn.timestamp_end = 1.0
        made.client_conn.state = connection.ConnectionState.CLOSED


@pytest.mark.parametrize(
    ("message", "connected", "end"),
    [
        (
            "peer closed connection without sending complete body",
            True,
            "upstream-broke",
        ),
        ("Server disconnected.", True, "upstream-broke"),
        ("Client disconnected.", True, "client-left"),
        ("Stream was reset", False, "client-left"),
        # What follows is the upstream's own text.
        (
            "HTTP/2 connection closed: <ConnectionTerminated b'max_clients'>",
            True,
            "upstream-broke",
        ),
    ],
)
def test_a_stream_that_broke_off_says_who_left(
    proxy: Proxy, message: str, connected: bool, end: str
) -> None:
    made = proxy.flow()
    proxy.addon.responseheaders(made)
    proxy.feed(made, BAD[:-20])
    broken(made, message, connected=connected)
    proxy.addon.error(made)
    assert response_of(made).raw_content == wire([HEAD, TEXT])
    (record,) = proxy.records("flow")
    assert (record["end"], record["status"]) == (end, 200)
    assert record["events"] >= 2


@pytest.mark.parametrize(
    ("client", "server", "message", "end"),
    [
        ("HTTP/1.1", "HTTP/2.0", "by client (INTERNAL_ERROR)", "upstream-broke"),
        ("HTTP/1.1", "HTTP/2.0", "by client (CANCEL)", "upstream-broke"),
        ("HTTP/2.0", "HTTP/1.1", "by client (CANCEL)", "client-left"),
        ("HTTP/2.0", "HTTP/2.0", "by client (CANCEL)", "client-left"),
        ("HTTP/2.0", "HTTP/2.0", "by client (INTERNAL_ERROR)", "upstream-broke"),
    ],
)
def test_a_reset_by_an_http_2_upstream_is_not_the_client_s(
    proxy: Proxy, client: str, server: str, message: str, end: str
) -> None:
    # mitmproxy says "client" on both sides (proxy/layers/http/_http2.py).
    made = proxy.flow()
    made.request.http_version = client
    response_of(made).http_version = server
    proxy.addon.responseheaders(made)
    broken(made, f"stream reset {message}")
    proxy.addon.error(made)
    assert proxy.end() == end


def test_a_lost_finish_reason_is_said(
    proxy: Proxy, caplog: pytest.LogCaptureFixture
) -> None:
    made = proxy.flow()
    proxy.addon.responseheaders(made)
    assert FINISH["choices"][0]["finish_reason"].encode() not in proxy.feed(
        made, wire([HEAD, TEXT, FINISH])
    )
    broken(made, "Server disconnected.")
    proxy.addon.error(made)
    assert messages(caplog) == [
        f"normalize: {HOST} broke off while a finish reason waited"
    ]


def test_nothing_is_said_when_nothing_waited(
    proxy: Proxy, caplog: pytest.LogCaptureFixture
) -> None:
    made = proxy.flow()
    proxy.addon.responseheaders(made)
    proxy.feed(made, wire([HEAD, TEXT]))
    broken(made, "Server disconnected.")
    proxy.addon.error(made)
    assert messages(caplog) == []


def test_a_body_that_broke_off_has_a_record(proxy: Proxy) -> None:
    made = proxy.flow(request={"model": "m"})
    proxy.addon.responseheaders(made)
    broken(made, "Server disconnected.")
    proxy.addon.error(made)
    (record,) = proxy.records()
    assert (record["end"], record["stream"]) == ("upstream-broke", False)


def test_an_error_without_words_is_the_upstream_s(proxy: Proxy) -> None:
    made = proxy.flow()
    proxy.addon.responseheaders(made)
    made.error = None
    proxy.addon.error(made)
    assert proxy.end() == "upstream-broke"


def test_an_answer_that_never_came_is_an_error(proxy: Proxy) -> None:
    made = proxy.flow()
    made.response = None
    broken(made, "Name or service not known")
    proxy.addon.error(made)
    (record,) = proxy.records()
    assert (record["end"], record["status"], record["events"]) == ("error", 502, 0)
    assert (record["model"], record["stream"]) == ("m", True)


def test_an_answer_that_mitmproxy_refused_has_a_record(proxy: Proxy) -> None:
    # Bad headers: the response is there, but its headers hook was never called.
    made = proxy.flow()
    broken(made, "Received header from server, refusing to prevent attacks")
    proxy.addon.error(made)
    assert len(proxy.records("flow")) == 1


def test_a_broken_flow_that_is_not_ours_has_no_record(proxy: Proxy) -> None:
    made = proxy.flow(path="/v1/models")
    made.response = None
    broken(made, "no")
    proxy.addon.error(made)
    assert proxy.records() == []


def test_each_answer_has_one_record(proxy: Proxy) -> None:
    made = proxy.flow()
    proxy.stream(made, GOOD)
    proxy.addon.response(made)
    proxy.addon.error(made)
    assert len(proxy.records("flow")) == 1


def test_a_corrupt_stream_is_broken_off_and_said_to_be(
    proxy: Proxy, caplog: pytest.LogCaptureFixture
) -> None:
    made = proxy.flow(headers={"content-type": SSE, "content-encoding": "gzip"})
    made.live = True
    deflate = zlib.compressobj(wbits=31)
    data = deflate.compress(wire([HEAD, TEXT])) + deflate.flush(zlib.Z_FULL_FLUSH)
    assert proxy.stream(made, data, b"\xff" * 9) == wire([HEAD, TEXT])
    assert made.error is not None
    assert made.error.msg == flow.Error.KILLED_MESSAGE
    assert len(messages(caplog)) == 1
    assert proxy.end() == "upstream-broke"


def test_a_break_off_closes_the_upstream_s_connection(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A kill alone is seen at the stream's end only (mitmproxy #4711).
    made = proxy.flow(headers={"content-type": SSE, "content-encoding": "gzip"})
    closed: list[object] = []
    handler = SimpleNamespace(close_connection=closed.append)
    server = proxy.context.master.addons.get("proxyserver")
    monkeypatch.setitem(server.connections, made.client_conn.id, handler)
    proxy.addon.responseheaders(made)
    made.server_conn.state = connection.ConnectionState.OPEN
    made.live = False  # killed by the user, just now
    assert proxy.feed(made, b"no gzip") == b""
    assert closed == [made.server_conn]


def test_an_answer_that_another_addon_made_is_repaired_too(proxy: Proxy) -> None:
    # Nor does a server replay pass the rewriter.
    made = proxy.flow()
    proxy.addon.responseheaders(made)
    response_of(made).data.content = BAD
    proxy.addon.response(made)
    assert response_of(made).raw_content == GOOD
    assert proxy.end() == "complete"


# -- when something raises ---------------------------------------------------------


def fail(*_: Any, **__: Any) -> Any:
    raise RuntimeError


@pytest.mark.parametrize("name", ["Rewriter", "Pipeline", "decoder_for", "Answer"])
def test_a_bug_at_the_start_lets_the_answer_pass_as_it_is(
    proxy: Proxy,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    name: str,
) -> None:
    monkeypatch.setattr(module, name, fail)
    headers = {"content-type": SSE, "content-length": "9", "content-encoding": "gzip"}
    made = proxy.flow(headers=headers)
    proxy.addon.responseheaders(made)
    assert headers_of(made) == headers
    assert not callable(response_of(made).stream)
    assert messages(caplog, "ERROR") == [f"normalize: {HOST} passes as it is"]


def test_a_stream_that_passes_because_of_a_bug_is_not_held_back(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "Rewriter", fail)
    made = proxy.flow()
    proxy.addon.responseheaders(made)
    assert response_of(made).stream is True


def test_a_body_that_passes_because_of_a_bug_is_buffered_as_ever(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "Answer", fail)
    made = proxy.flow(headers={"content-type": "application/json"})
    proxy.addon.responseheaders(made)
    assert response_of(made).stream is False


def test_a_bug_in_the_repair_of_a_body_lets_it_pass_and_keeps_its_record(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "repair_body", fail)
    made = proxy.flow(request={"model": "m"})
    assert proxy.body(made, dumps(BAD_BODY)) == dumps(BAD_BODY)
    assert proxy.end() == "complete"


def test_a_log_that_cannot_start_does_not_cost_the_repair(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PairsLog", fail)
    assert proxy.stream(proxy.flow(), BAD) == GOOD


def test_a_request_that_mitmproxy_did_not_keep_holds_no_stream_back(
    proxy: Proxy,
) -> None:
    # stream_large_bodies: what the request asked is gone.
    made = proxy.flow()
    made.request.raw_content = None
    proxy.addon.responseheaders(made)
    assert response_of(made).stream


# -- the end of it all -------------------------------------------------------------


def test_done_closes_what_is_open_and_writes_the_logs(proxy: Proxy) -> None:
    stream, body = proxy.flow(), proxy.flow(request={"model": "m"})
    for each in (stream, body):
        proxy.addon.responseheaders(each)
    proxy.feed(stream, BAD[:-20])
    records = proxy.records("flow")
    assert {each["flow"]: each["end"] for each in records} == {
        stream.id: "upstream-broke",
        body.id: "upstream-broke",
    }
    assert proxy.addon._log is not None
    assert not proxy.addon._log._thread.is_alive()


def test_done_closes_the_logs_of_former_paths(proxy: Proxy) -> None:
    proxy.stream(proxy.flow(), GOOD)
    old = proxy.addon._log
    proxy.set(normalize_pairs="")
    proxy.close()
    assert old is not None
    assert not old._thread.is_alive()
    assert len(proxy.log.read_text().splitlines()) == 1


def test_streams_that_outlive_the_addon_are_repaired_and_recorded_to_their_end(
    proxy: Proxy,
) -> None:
    # A reload: open streams finish on the old code, without its hooks.
    flows = [proxy.flow(), proxy.flow()]
    for made in flows:
        proxy.addon.responseheaders(made)
    proxy.addon.done()
    for made in flows:
        assert proxy.feed(made, BAD) + proxy.feed(made, b"") == GOOD
    lines = [json.loads(line) for line in proxy.log.read_text().splitlines()]
    ends = {line["flow"]: line["end"] for line in lines if line["type"] == "flow"}
    assert ends == {made.id: "complete" for made in flows}


def test_a_reload_without_streams_closes_the_logs(proxy: Proxy) -> None:
    proxy.stream(proxy.flow(), GOOD)
    log = proxy.addon._log
    proxy.addon.done()
    assert log is not None
    assert not log._thread.is_alive()


def test_a_full_disk_is_said_in_the_event_log(
    proxy: Proxy, caplog: pytest.LogCaptureFixture
) -> None:
    (proxy.folder / "normalize").write_bytes(b"a file, no folder")
    assert proxy.stream(proxy.flow(), BAD) == GOOD
    proxy.close()
    (said,) = messages(caplog)
    assert said.startswith("normalize: cannot write the pairs log")
