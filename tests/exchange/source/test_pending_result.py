import gzip
import json
from typing import Any

import pytest
from mitmproxy import http
from mitmproxy.proxy.mode_specs import ProxyMode

from exchange.source.second_answers import SecondAnswers
from llm_normalize.exchange.delivery.stream_or_buffer import is_pending
from llm_normalize.exchange.source import pending_result
from llm_normalize.exchange.source.pending_result import fetch
from llm_normalize.exchange.state.running_answer import RunningAnswer
from llm_normalize.exchange.state.settings import Settings
from llm_normalize.fixes import FIXES
from llm_normalize.mitm.second_request import Reply, UpstreamError
from llm_normalize.wire.json_text import dumps
from proxies import BAD_BODY, HOST, Proxy, broken, chat_flow, headers_of, response_of

NAME = "0f6b-req"
STATUS = "/v2/nvcf/pexec/status/"
HOME = "https://api.nvcf.nvidia.com" + STATUS
READY = Reply(200, "OK", [("Content-Type", "application/json")], b"{}")
UNKNOWN = Reply(404, "Not Found")


class Status(SecondAnswers):
    @property
    def urls(self) -> list[str]:
        return [each.url for each in self.asked]


@pytest.fixture
def status(monkeypatch: pytest.MonkeyPatch) -> Status:
    made = Status(READY)
    monkeypatch.setattr(pending_result, "send", made.send)
    for name in ("_FIRST_WAIT", "_LONGEST_WAIT", "_LOOK"):
        monkeypatch.setattr(pending_result, name, 0.001)
    return made


def accepted(host: str = HOST, name: str = NAME, **more: Any) -> http.HTTPFlow:
    """Return a flow whose answer is not ready."""
    made = chat_flow(host=host, status=202, headers={"nvcf-reqid": name}, **more)
    made.server_conn.sni = None
    return made


def fetched(proxy: Proxy, made: http.HTTPFlow) -> bool:
    settings = Settings(FIXES, observe=False, strict=False, log=None)
    fetching = fetch(made, RunningAnswer.of(made, settings))
    return proxy.context.master.event_loop.run_until_complete(fetching)


def one(status: Status) -> http.Request:
    (asked,) = status.asked
    return asked


# -- which answers -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "headers", "expected"),
    [
        (202, {"nvcf-reqid": NAME}, True),
        (202, {"NVCF-REQID": NAME, "nvcf-status": "pending-evaluation"}, True),
        (202, {"nvcf-reqid": ""}, False),
        (202, {"x-request-id": NAME}, False),
        (200, {"nvcf-reqid": NAME}, False),
        (429, {"nvcf-reqid": NAME}, False),
    ],
)
def test_which_answers_are_not_ready(
    code: int, headers: dict[str, str], expected: bool
) -> None:
    made = chat_flow(status=code, headers=headers)
    assert is_pending(response_of(made)) is expected


# -- where is asked ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("host", "sni"),
    [
        (HOST, None),
        ("INTEGRATE.API.NVIDIA.COM", None),
        ("nvidia.com", None),
        ("192.0.2.7", HOST),
    ],
)
def test_nvidias_own_address_is_asked_next(
    proxy: Proxy, status: Status, host: str, sni: str | None
) -> None:
    made = accepted(host)
    made.server_conn.sni = sni
    status.replies = [UNKNOWN, Reply(202), READY]
    assert fetched(proxy, made)
    assert status.urls[1:] == [HOME + NAME] * 2
    first, home, _ = status.asked
    assert home.headers.pop("host") == "api.nvcf.nvidia.com"
    assert home.headers == first.headers


def test_password_for_the_proxy_goes_along_by_plain_http_alone(
    proxy: Proxy, status: Status
) -> None:
    made = accepted()
    made.request.scheme, made.request.port = "http", 80
    made.client_conn.proxy_mode = ProxyMode.parse("upstream:http://p.test")
    made.server_conn.via = ("http", ("p.test", 8080))
    made.request.headers["proxy-authorization"] = "Basic x"
    made.request.authority = HOST
    status.replies = [UNKNOWN, READY]
    assert fetched(proxy, made)
    plain, home = status.asked
    assert plain.headers["proxy-authorization"] == "Basic x"
    assert (plain.url, plain.authority) == (f"http://{HOST}{STATUS}{NAME}", HOST)
    assert "proxy-authorization" not in home.headers
    assert (home.url, home.authority) == (HOME + NAME, "")


@pytest.mark.parametrize(
    "host",
    [
        "api.nvcf.nvidia.com",
        "nim.test",
        "evilnvidia.com",
        "nvidia.com.evil.test",
        "nvidia.com:8443.evil.test",
        "127.0.0.1",
    ],
)
def test_key_goes_to_nvidia_from_its_own_hosts_only(
    proxy: Proxy, status: Status, host: str
) -> None:
    made = accepted()
    made.request.host = host
    status.replies = [UNKNOWN, READY]
    assert fetched(proxy, made)
    assert len(status.asked) == 1
    assert response_of(made).status_code == 404


def test_name_that_another_host_claims_in_a_header_is_not_believed(
    proxy: Proxy, status: Status
) -> None:
    made = accepted("nim.test")
    made.request.headers["host"] = HOST
    status.replies = [UNKNOWN]
    assert fetched(proxy, made)
    assert len(status.asked) == 1


@pytest.mark.parametrize(
    ("name", "quoted"),
    [
        (b"../../v1/keys", "..%2F..%2Fv1%2Fkeys"),
        (b"a?b=c#d", "a%3Fb%3Dc%23d"),
        (b"a b%2f@evil.test:1", "a%20b%252f%40evil.test%3A1"),
        (b"\xc3\xbc\xff", "%C3%BC%FF"),
        (b"a\\b;c&d", "a%5Cb%3Bc%26d"),
    ],
)
def test_hostile_name_is_quoted(
    proxy: Proxy, status: Status, name: bytes, quoted: str
) -> None:
    made = accepted()
    response_of(made).headers.fields = ((b"nvcf-reqid", name),)
    error = UpstreamError("no")
    status.replies = [UNKNOWN, error, error, error]
    assert fetched(proxy, made)
    assert status.urls[0] == f"https://{HOST}{STATUS}{quoted}"
    assert status.urls[1] == HOME + quoted
    assert response_of(made).status_code == 502


# -- what is sent ------------------------------------------------------------------


def test_nothing_of_the_client_is_sent_but_its_key(
    proxy: Proxy, status: Status
) -> None:
    made = accepted()
    made.request.headers.update(
        {
            "cookie": "a=b",
            "user-agent": "me",
            "x-api-key": "secret",
            "accept-encoding": "gzip",
            "proxy-authorization": "Basic secret",
        }
    )
    assert fetched(proxy, made)
    assert dict(one(status).headers) == {
        "authorization": "Bearer nvapi-key",
        "accept": "application/json",
        "accept-encoding": "identity",
    }


@pytest.mark.parametrize("left", ["connection", "error"])
def test_answer_stays_when_the_client_has_left(
    proxy: Proxy, status: Status, left: str
) -> None:
    made = accepted()
    response_of(made).raw_content = b"later"
    words = "Client disconnected."
    status.meanwhile = lambda: broken(made, words, connected=left == "error")
    assert not fetched(proxy, made)
    assert len(status.asked) == 1
    assert (response_of(made).status_code, response_of(made).raw_content) == (
        202,
        b"later",
    )


# -- as an answer on its way -------------------------------------------------------


def responded(proxy: Proxy, made: http.HTTPFlow, body: bytes = b"{}") -> bytes:
    """Play the answer 202, and return what the client gets."""
    made.live = True
    proxy.addon.responseheaders(made)
    response_of(made).raw_content = body
    proxy.respond(made)
    return response_of(made).raw_content or b""


def test_result_is_repaired_decoded_and_logged(proxy: Proxy, status: Status) -> None:
    kinds = [("Content-Type", "application/json"), ("Content-Encoding", "gzip")]
    status.replies = [Reply(200, "OK", kinds, gzip.compress(dumps(BAD_BODY)))]
    made = accepted(request={"model": "m"})
    assert (
        json.loads(responded(proxy, made, b"wait"))["choices"][0]["message"]["content"]
        == ""
    )
    assert "content-encoding" not in headers_of(made)
    pair, *_, record = proxy.records()
    assert (pair["fixes"], pair["before"]) == (["answer-pending"], "wait")
    assert record["fixes"]["answer-pending"] == 1
    assert (record["status"], record["end"]) == (200, "complete")
    assert "nvapi-key" not in proxy.log.read_text()
