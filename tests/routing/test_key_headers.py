import pytest
from mitmproxy import http
from mitmproxy.proxy.mode_specs import ProxyMode
from mitmproxy.test import tflow

from llm_normalize.routing.key_on_request import strip_for_key, without_credentials


def stripped(**headers: str) -> http.HTTPFlow:
    made = tflow.tflow()
    made.request = http.Request.make("POST", "https://a.test:8443/x", b"{}")
    for name, value in headers.items():
        made.request.headers.add(name, value)
    strip_for_key(made)
    return made


@pytest.mark.parametrize(
    "name",
    [
        *("X-API-Key", "api-key", "Authorization", "X-Goog-Api-Key", "X-Auth-Token"),
        *("Ocp-Apim-Subscription-Key", "Cookie", "Proxy-Authorization", "Api-Token"),
        *("X-Amz-Security-Token", "X-Client-Secret", "X-Api-Auth-Key"),
        *("Forwarded", "X-Forwarded-Host", "X-Forwarded-For", "X-Host", "Via"),
        *("X-Original-URL", "X-Rewrite-URL", "X-HTTP-Method-Override", "X-HTTP-Method"),
        *("X-Real-IP", "Helicone-Target-URL", "X-Portkey-Custom-Host", "Upgrade"),
        *("Proxy", "Proxy-Connection", "HTTP2-Settings", "X-Envoy-Original-Path"),
        *("X_Forwarded_Host", "x_original_url", "X_HTTP_Method", "Transfer_Encoding"),
        "Destination",
    ],
)
def test_header_that_could_send_the_key_elsewhere_does_not_go_along(name: str) -> None:
    made = stripped(**{name: "evil"})
    assert "evil" not in str(made.request.headers)


@pytest.mark.parametrize(
    "name",
    [
        *("User-Agent", "Content-Type", "X-Stainless-Helper-Method", "OpenAI-Beta"),
        *("Idempotency-Key", "OpenAI-Organization", "NVCF-Poll-Seconds", "Accept"),
    ],
)
def test_other_headers_go_along(name: str) -> None:
    assert stripped(**{name: "mine"}).request.headers[name] == "mine"


def test_connection_names_no_header() -> None:
    for value, there in (("close", True), ("close, authorization", False)):
        assert ("connection" in stripped(connection=value).request.headers) is there


def test_header_that_is_two_does_not_go_along() -> None:
    made = stripped(x="1\r\nHost: evil.test", y="2")
    assert "evil" not in str(made.request.headers)
    assert made.request.headers["y"] == "2"


@pytest.mark.parametrize("version", ["HTTP/1.1", "HTTP/2.0"])
@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("mode", ["regular", "upstream:http://up.test:3128"])
def test_request_names_its_own_server(version: str, scheme: str, mode: str) -> None:
    made = tflow.tflow()
    made.client_conn.proxy_mode = ProxyMode.parse(mode)
    made.request = http.Request.make("POST", f"{scheme}://a.test.:8443/x?key=own")
    made.request.headers["proxy-authorization"] = "Basic eDp5"
    made.request.http_version = version
    made.request.headers.add("host", "evil.test")
    made.request.headers.add("host", "evil.test")
    made.request.authority = "evil.test"
    made.request.trailers = http.Headers(host="evil.test")
    strip_for_key(made)
    assert made.request.headers.get_all("host") == ["a.test:8443"]
    asks_proxy = mode != "regular" and scheme == "http"
    is_absolute = version == "HTTP/2.0" or asks_proxy
    assert made.request.authority == ("a.test:8443" if is_absolute else "")
    assert ("proxy-authorization" in made.request.headers) is asks_proxy
    assert made.request.get_state()["trailers"] is None
    assert made.request.path == "/x"


@pytest.mark.parametrize(
    ("target", "left"),
    [
        ("/x", "/x"),
        ("/x?", "/x?"),
        ("/x?key=k", "/x"),
        ("/x?a=b&api_key=k&c", "/x?a=b&c"),
        ("/x?API%2Dkey=k", "/x"),
        ("/x?access_token=k&auth_token=k&token=k", "/x"),
        ("/x?a=1;api_key=k&b", "/x?b"),
        ("/x?api-version=1&monkey=2", "/x?api-version=1&monkey=2"),
    ],
)
def test_credentials_of_a_query_are_dropped(target: str, left: str) -> None:
    assert without_credentials(target) == left
