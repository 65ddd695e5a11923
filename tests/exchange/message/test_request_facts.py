from mitmproxy import http

from llm_normalize.exchange.message.request_facts import asked_of, quoted, secrets_of
from proxies import HOST, chat_flow, response_of


def request_with(headers: dict[str, str], path: str = "/") -> http.Request:
    made = http.Request.make("POST", f"https://{HOST}{path}")
    for name, value in headers.items():
        made.headers[name] = value
    return made


def test_cookies_are_secret_together_and_each_alone() -> None:
    request = request_with({"cookie": "a=SECRET1; b=SECRET2"})
    assert {"a=SECRET1; b=SECRET2", "SECRET1", "SECRET2"} <= set(secrets_of(request))


def test_every_key_in_the_query_is_secret_and_nothing_else_there() -> None:
    path = "/?key=SECRET1&api_key=SECRET2&key=SECRET3&model=a-model"
    assert set(secrets_of(request_with({}, path))) == {"SECRET1", "SECRET2", "SECRET3"}


def test_words_of_a_provider_are_quoted_without_the_request() -> None:
    made = chat_flow(request={"model": "m", "messages": [{"content": "my canary"}]})
    assert quoted(made, "no\x1b: My canary, nvapi-key") == r"no\x1b: ***"
    made.request.raw_content = None  # it went by unread
    assert quoted(made, "no: my canary") == "***"


def test_what_a_request_that_cannot_be_read_asks_is_seen_in_its_answer() -> None:
    made = chat_flow(request={"model": "m"})
    made.request.headers["content-encoding"] = "br"
    assert asked_of(made, strict=False).stream
    response_of(made).headers["content-type"] = "application/json"
    assert not asked_of(made, strict=False).stream
