"""Requests for Responses and Messages that their own provider refuses, in a real mitmdump."""

import json
import time
from typing import Any

import pytest

from llm_normalize.wire.json_text import dumps
from support import (
    PATIENCE,
    Http1Client,
    Http2Client,
    Mitmdump,
    Provider,
    Script,
    body_script,
)

type Json = Any

RESPONSES, MESSAGES = "/v1/responses", "/v1/messages"
USER = {"role": "user", "content": "heron?"}
SYSTEM = {"role": "system", "content": "In French."}
STREAM = b'event: later\ndata: {"type":"later"}\n\n'
HEADERS = {"authorization": "Bearer wagtail"}
TOOL = {"name": "f", "input_schema": {"type": "object"}}
THINKING = {"type": "enabled", "budget_tokens": 2000}
EXTRA = "Extra inputs are not permitted"
NEW_FORM = (
    '"thinking.type.enabled" is not supported for this model. Use '
    '"thinking.type.adaptive" and "output_config.effort" to control thinking behavior.'
)
LATE = "System message must be at the beginning."
type Client = Http1Client | Http2Client
type Case = tuple[str, Json, int, str, Json]

CASES: dict[str, Case] = {
    "tools": (MESSAGES, {"tools": [{**TOOL, "defer_loading": True}]}, 400, f"tools.0.custom.defer_loading: {EXTRA}", {"tools": [TOOL]}),
    "thinking": (MESSAGES, {"thinking": THINKING}, 400, NEW_FORM, {"thinking": {"type": "adaptive", "display": "summarized"}}),
    "a template": (MESSAGES, {"messages": [USER, SYSTEM]}, 500, LATE, {"messages": [USER, {**SYSTEM, "role": "user"}]}),
    "instructions": (RESPONSES, {"input": [SYSTEM, USER]}, 400, LATE, {"input": [USER], "instructions": "In French."}),
}  # fmt: skip
STAYS: dict[str, Case] = {
    "policy": (MESSAGES, {"thinking": THINKING}, 400, "It violates our policy", {}),
    "a failure": (MESSAGES, {"thinking": THINKING}, 500, "Internal server error", {}),
    "instructions": (RESPONSES, {"instructions": "Hi."}, 400, "Unsupported parameter: 'instructions'", {}),
}  # fmt: skip


def asked(path: str, script: Script, more: Json) -> Json:
    said = {"input": [USER]} if path == RESPONSES else {"messages": [USER]}
    limit = {} if path == RESPONSES else {"max_tokens": 4096}
    return {"model": script.path, "stream": True, **said, **limit, **more}


def refusal(path: str, status: int, words: str) -> Script:
    """Return an error in the form of its protocol."""
    error: Json = {"message": words, "type": "invalid_request_error"}
    more: Json = {"type": "error"} if path == MESSAGES else {}
    if path == RESPONSES:
        error |= {"param": None, "code": None}
    return body_script(dumps({**more, "error": error}), status=status)


def recorded(proxy: Mitmdump, script: Script, count: int) -> list[Json]:
    """Return the records of a *script*'s model, once there are so many."""
    end, found = time.monotonic() + PATIENCE, list[Json]()
    while len(found) < count and time.monotonic() < end:  # the log has a thread
        found = [each for each in proxy.pairs() if each.get("model") == script.path]
    return found


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_request_takes_the_form_that_is_asked_for_and_then_at_once(
    reverse: Mitmdump, provider: Provider, case: Case
) -> None:
    path, given, status, words, changed = case
    turns = [refusal(path, status, words)]
    script = provider.script(STREAM, path=path, turns=turns)
    before = asked(path, script, given)
    wanted = {key: each for key, each in before.items() if key not in given}
    wanted = asked(path, script, {}) | wanted | changed
    for _ in range(2):
        reply = reverse.ask(script.path, before, HEADERS)
        assert (reply.status, reply.body) == (200, STREAM)
    assert [json.loads(each.body) for each in script.requests] == [
        before,
        wanted,
        wanted,
    ]
    records = recorded(reverse, script, 4)
    assert [each["type"] for each in records] == ["request", "flow"] * 2
    assert all(each["dropped"] or each["changed"] for each in records[::2])
    assert "wagtail" not in json.dumps(records)


@pytest.mark.parametrize("case", STAYS.values(), ids=STAYS)
def test_refusal_that_asks_for_no_form_passes_and_is_recorded(
    reverse: Mitmdump, provider: Provider, case: Case
) -> None:
    path, given, status, words, _ = case
    first = refusal(path, status, words)
    script = provider.script(STREAM, path=path, turns=[first])
    body = asked(path, script, given)
    reply = reverse.ask(script.path, body, HEADERS)
    assert (reply.status, reply.body) == (status, first.bytes)
    assert len(script.requests) == 1
    record, _ = recorded(reverse, script, 2)
    assert (record["type"], record["status"]) == ("refusal", status)
    assert words in record["words"]


def test_what_one_protocol_has_learned_changes_no_request_in_another(
    client: Client, upstream: Provider
) -> None:
    turns = [refusal(RESPONSES, 400, "Unknown parameter: 'metadata'")]
    script = upstream.script(STREAM, path=RESPONSES, turns=turns)
    body = asked(RESPONSES, script, {"metadata": {"a": "b"}})
    assert client.post(script.path, body, HEADERS).rest() == STREAM
    other = upstream.script(STREAM, path=MESSAGES)
    body = {**asked(MESSAGES, script, {}), "metadata": {"user_id": "a"}}
    assert client.post(other.path, body, HEADERS).rest() == STREAM
    assert json.loads(other.requests[0].body) == body


@pytest.mark.usefixtures("bridged")
@pytest.mark.parametrize("path", [RESPONSES, MESSAGES])
def test_words_of_a_provider_that_stays_busy_are_an_error_of_the_protocol(
    client: Client, proxy: Mitmdump, upstream: Provider, path: str
) -> None:
    busy = Script("", [b"Too many herons"], 429, {"retry-after": "2"}, "length")
    script = upstream.script(path=path, turns=[busy, busy])
    with proxy.options(normalize_retry=3):
        reply = client.post(script.path, asked(path, script, {}), HEADERS)
        assert reply.status == 200
        body = reply.rest()
    assert len(script.requests) == 2
    assert b"event: error\ndata: {" in body
    assert b"Too many herons" in body
    assert b"\nToo" not in body
