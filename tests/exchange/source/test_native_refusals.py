"""Requests for Responses and Messages that their own provider refuses."""

from typing import Any

import pytest

from exchange.source.second_answers import JSON, SecondAnswers
from llm_normalize.mitm.second_request import Reply
from llm_normalize.wire.json_text import dumps, loads
from proxies import Proxy, chat_flow, connected, response_of

type Json = Any

RESPONSES, MESSAGES = "/v1/responses", "/v1/messages"
USER = {"role": "user", "content": "heron?"}
SYSTEM = {"role": "system", "content": "In French."}
LEAST: dict[str, Json] = {
    RESPONSES: {"model": "m", "input": [USER]},
    MESSAGES: {"model": "m", "messages": [USER], "max_tokens": 4096},
}
"""The least that is asked for in each protocol."""
ANSWER = b'{"type":"later"}'
THINKING = {"thinking": {"type": "enabled", "budget_tokens": 2000}}
NEW_FORM = (
    '"thinking.type.enabled" is not supported for this model. Use '
    '"thinking.type.adaptive" and "output_config.effort" to control thinking behavior.'
)
CALLING: Json = {"role": "assistant", "content": [{"type": "tool_use", "id": "c"}]}
LATE = "System message must be at the beginning."
FOREIGN = "messages.1.content.0: Invalid `signature` in `thinking` block"


@pytest.fixture(autouse=True)
def native(proxy: Proxy) -> None:
    """Have nothing translated."""
    proxy.set(normalize_translate=["off"])


def asked(proxy: Proxy, path: str, given: Json) -> Any:
    """Return a flow that asks for the least, with what is *given*, as it leaves."""
    made = chat_flow(path=path, request=LEAST[path] | given)
    made.response = None
    proxy.addon.requestheaders(made)
    proxy.addon.request(made)
    connected(made)
    return made


def refused(proxy: Proxy, path: str, given: Json, status: int, words: str) -> Any:
    """Return what becomes of the refusal of a request."""
    made = asked(proxy, path, given)
    made.server_conn.timestamp_start = 1.0
    error: Json = {"message": words, "type": "invalid_request_error"}
    made.response = chat_flow(status=status, headers=dict(JSON)).response
    response_of(made).raw_content = dumps({"type": "error", "error": error})
    proxy.addon.responseheaders(made)
    proxy.respond(made)
    return response_of(made)


@pytest.mark.parametrize(
    ("path", "given", "status", "words", "changed"),
    [
        (MESSAGES, {"tools": [{"name": "f", "input_schema": {}, "defer_loading": True}]}, 400, "tools.0.custom.defer_loading: Extra inputs are not permitted", {"tools": [{"name": "f", "input_schema": {}}]}),
        (MESSAGES, THINKING, 400, NEW_FORM, {"thinking": {"type": "adaptive", "display": "summarized"}}),
        (MESSAGES, {"messages": [USER, SYSTEM]}, 500, LATE, {"messages": [USER, {**SYSTEM, "role": "user"}]}),
        (RESPONSES, {"input": [SYSTEM, USER]}, 400, LATE, {"input": [USER], "instructions": "In French."}),
        (RESPONSES, {"input": [{"type": "function_call", "arguments": '{"a'}]}, 400, "Expecting value: line 1 column 6 (char 5)", {"input": [{"type": "function_call", "arguments": '{"INVALID_JSON":"{\\"a"}'}]}),
        (MESSAGES, {"messages": [{"role": "user", "content": [{"type": "image", "source": {}}]}]}, 400, "this model does not support image input", {"messages": [{"role": "user", "content": "(An image was here. The model cannot read it: say so if it is needed.)"}]}),
        (MESSAGES, {"messages": [{"role": "user", "content": [{"type": "image", "source": {}, "cache_control": {}}]}]}, 400, "this model does not support image input", {"messages": [{"role": "user", "content": [{"type": "text", "text": "(An image was here. The model cannot read it: say so if it is needed.)", "cache_control": {}}]}]}),
        (RESPONSES, {"input": [{"role": "user", "content": [{"type": "input_image"}]}]}, 400, "this model does not support image input", {"input": [{"role": "user", "content": [{"type": "input_text", "text": "(An image was here. The model cannot read it: say so if it is needed.)"}]}]}),
        (MESSAGES, {"messages": [CALLING]}, 400, "The `content[].thinking` in the thinking mode must be passed back to the API.", {"messages": [{**CALLING, "content": [{"type": "thinking", "thinking": "", "signature": ""}, *CALLING["content"]]}]}),
        (MESSAGES, {"messages": [{**CALLING, "content": [{"type": "thinking"}, *CALLING["content"]]}]}, 400, FOREIGN, {"messages": [CALLING]}),
    ],
    ids=["tools", "thinking", "a template", "instructions", "arguments", "an image", "a marked image", "an image of Responses", "a thought", "one conversation"],
)  # fmt: skip
def test_request_takes_the_form_that_is_asked_for_and_then_at_once(
    proxy: Proxy,
    upstream: SecondAnswers,
    path: str,
    given: Json,
    status: int,
    words: str,
    changed: Json,
) -> None:
    upstream.replies = [Reply(200, "OK", JSON, ANSWER)]
    answer = refused(proxy, path, given, status, words)
    assert (answer.status_code, answer.content) == (200, ANSWER)
    assert upstream.bodies == [LEAST[path] | changed]
    (record,) = proxy.records("request")
    assert record["dropped"] or record["changed"]
    sent = given if words == FOREIGN else changed
    assert loads(asked(proxy, path, given).request.content) == LEAST[path] | sent


@pytest.mark.parametrize(
    ("path", "given", "status", "words"),
    [
        (MESSAGES, THINKING, 400, "It violates our policy"),
        (MESSAGES, THINKING, 500, "Internal server error"),
        (MESSAGES, {"messages": [{"role": "user", "content": [{"type": "image", "source": {}}]}]}, 400, "messages.0.content: must be a string"),
        (RESPONSES, {"instructions": "Hi."}, 400, "Unsupported parameter: 'instructions'"),
    ],
    ids=["policy", "a failure", "content", "instructions"],
)  # fmt: skip
def test_refusal_that_asks_for_no_form_passes_and_is_recorded(
    proxy: Proxy,
    upstream: SecondAnswers,
    path: str,
    given: Json,
    status: int,
    words: str,
) -> None:
    answer = refused(proxy, path, given, status, words)
    assert answer.status_code == status
    assert loads(answer.content)["error"]["message"] == words
    assert upstream.asked == []
    (record,) = proxy.records("refusal")
    assert record["status"] == status
    assert words in record["words"]


def test_what_one_protocol_has_learned_changes_no_request_in_another(
    proxy: Proxy, upstream: SecondAnswers
) -> None:
    given = {"metadata": {"user_id": "a"}}
    upstream.replies = [Reply(200, "OK", JSON, ANSWER)]
    refused(proxy, RESPONSES, given, 400, "Unknown parameter: 'metadata'")
    assert upstream.bodies == [LEAST[RESPONSES]]
    assert (
        loads(asked(proxy, MESSAGES, given).request.content) == LEAST[MESSAGES] | given
    )
