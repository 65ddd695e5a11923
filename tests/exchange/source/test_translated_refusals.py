"""Refusals of translated requests: what a conversation holds must not end it."""

import json
from typing import Any

import pytest

from exchange.source.second_answers import JSON, SecondAnswers
from llm_normalize.mitm.second_request import Reply
from llm_normalize.protocols.responses.content import packed
from llm_normalize.repair.fix import completion
from llm_normalize.wire.json_text import dumps
from proxies import HOST, Proxy, chat_flow, connected, response_of

GOOD = Reply(200, "OK", JSON, dumps(completion({"role": "assistant", "content": "Hi"})))
PIXEL = "data:image/png;base64,AAAA"
LOOK: Any = {
    "type": "message",
    "role": "user",
    "content": [
        {"type": "input_text", "text": "Look:"},
        {"type": "input_image", "image_url": PIXEL},
    ],
}
TOO_LONG = b'{"error":{"message":"x","code":"context_length_exceeded"}}'


def play(proxy: Proxy, given: list[Any], words: bytes, status: int = 400) -> Any:
    """Return the answer to a request that is refused at first."""
    asked = {"model": "m", "input": given}
    made = chat_flow(host=HOST, path="/v1/responses", request=asked)
    made.response = None
    proxy.addon.requestheaders(made)
    proxy.addon.request(made)
    connected(made)
    made.server_conn.timestamp_start = 1.0
    made.response = chat_flow(status=status, headers=dict(JSON)).response
    response_of(made).raw_content = words
    proxy.addon.responseheaders(made)
    proxy.respond(made)
    return response_of(made)


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (400, b'{"error":{"message":"m is not a multimodal model"}}'),
        (500, b'{"error":{"message":"image input is not supported"}}'),
        (404, b'{"error":{"message":"No endpoints found that support image input"}}'),
        (500, b'{"error":{"message":"sequence item 1: expected str instance, list found"}}'),
        (422, b'{"detail":[{"loc":["body","messages",0,"content"],"msg":"Input should be a valid string"}]}'),
    ],
)  # fmt: skip
def test_image_that_the_model_cannot_see_becomes_a_sentence(
    proxy: Proxy, upstream: SecondAnswers, status: int, words: bytes
) -> None:
    upstream.replies = [GOOD]
    assert play(proxy, [LOOK], words, status).status_code == 200
    (again,) = upstream.asked
    (message,) = json.loads(again.content or b"")["messages"]
    assert message["content"].startswith("Look:\n(An image was here.")
    (record,) = proxy.records("request")
    assert "attachment-refused" in record["fixes"]


def test_conversation_that_is_too_long_for_its_summary_is_halved(
    proxy: Proxy, upstream: SecondAnswers
) -> None:
    said = [{"role": "user", "content": f"word {at:02}"} for at in range(16)]
    upstream.replies = [Reply(400, "Bad Request", JSON, TOO_LONG), GOOD]
    answer = play(
        proxy,
        [
            {"role": "developer", "content": "Head."},
            *said,
            {"type": "compaction_trigger"},
        ],
        TOO_LONG,
    )
    assert answer.status_code == 200
    assert json.loads(answer.content)["output"][0]["type"] == "compaction"
    sent = [json.loads(each.content or b"")["messages"] for each in upstream.asked]
    assert [len(each) for each in sent] == [10, 6]
    assert {each[0]["content"] for each in sent} == {"Head."}
    assert {each[-1]["content"] for each in sent} == {sent[0][-1]["content"]}
    assert sent[1][-2]["content"] == "word 15"
    (record,) = proxy.records("request")
    assert "conversation-too-long" in record["fixes"]


def test_earlier_summary_stays_when_the_conversation_after_it_is_halved(
    proxy: Proxy, upstream: SecondAnswers
) -> None:
    said = [{"role": "user", "content": f"word {at:02}"} for at in range(8)]
    earlier = {"type": "compaction", "encrypted_content": packed("So far.")}
    upstream.replies = [Reply(400, "Bad Request", JSON, TOO_LONG), GOOD]
    given = [
        {"role": "developer", "content": "Head."},
        *said[:2],
        earlier,
        *said[2:],
        {"type": "compaction_trigger"},
    ]
    assert play(proxy, given, TOO_LONG).status_code == 200
    sent = [json.loads(each.content or b"")["messages"] for each in upstream.asked]
    assert [len(each) for each in sent] == [7, 5]
    for each in sent:
        assert each[1]["content"].endswith("So far.")
        assert each[-2]["content"] == "word 07"


def test_result_does_not_stay_without_its_call(
    proxy: Proxy, upstream: SecondAnswers
) -> None:
    call = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
    result = {"type": "function_call_output", "call_id": "c", "output": "x" * 99}
    later = {"role": "user", "content": "y" * 99}
    upstream.replies = [GOOD]
    play(proxy, [call, result, later, {"type": "compaction_trigger"}], TOO_LONG)
    (again,) = upstream.asked
    roles = [each["role"] for each in json.loads(again.content or b"")["messages"]]
    assert roles == ["user", "user"]


def test_conversation_that_is_too_long_for_an_answer_is_the_clients(
    proxy: Proxy, upstream: SecondAnswers
) -> None:
    said = [{"role": "user", "content": "word"}] * 9
    assert play(proxy, said, TOO_LONG).status_code == 400
    assert not upstream.asked


def test_what_is_not_translated_takes_no_form_of_chat(
    proxy: Proxy, upstream: SecondAnswers
) -> None:
    proxy.set(normalize_translate=["off"])
    system = {"role": "system", "content": "Be terse."}
    user = {"role": "user", "content": "Hi"}
    upstream.replies = [Reply(200, "OK", JSON, b'{"odd":1}')]
    words = b'{"error":{"message":"System message must be at the beginning."}}'
    assert play(proxy, [system, user], words).status_code == 200
    (again,) = upstream.bodies
    assert again == {"model": "m", "input": [user], "instructions": "Be terse."}
