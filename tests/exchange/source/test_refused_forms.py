"""Forms that a refusal asks for: sent at once, learned, and named in the log."""

import json
from pathlib import Path
from typing import Any

import pytest

from exchange.source.second_answers import JSON, SecondAnswers, play
from llm_normalize.mitm.second_request import Reply
from llm_normalize.repair.fix import DONE, STOP, TEXT, chunk, wire
from llm_normalize.request.adaptation import CHAT, LEARNED, Adaptation, RequestExample
from llm_normalize.request.adaptations import ADAPTATIONS
from llm_normalize.wire.json_text import dumps, loads
from proxies import GOOD_BODY, Proxy, chat_flow, response_of

FORMS = [
    each
    for each in ADAPTATIONS
    if CHAT in each.sent_as and not (each.hosts or each.name == LEARNED)
]
CHANGING = [
    pytest.param(each, example, id=f"{each.name}/{example.name}")
    for each in FORMS
    for example in each.examples
    if example.changes
]


def refused(body: Any, words: bytes, status: int = 400, **more: Any) -> Any:
    made = chat_flow(
        request={"model": "m", **body}, status=status, headers=dict(JSON), **more
    )
    response_of(made).raw_content = words
    return made


def sent(proxy: Proxy, body: Any, key: str | None = None) -> Any:
    """Return what of *body* is sent to the provider, by a client with a *key*."""
    made = chat_flow(request={"model": "m", **body})
    made.response = None
    if key is not None:
        made.request.headers["authorization"] = key
    proxy.addon.requestheaders(made)
    proxy.addon.request(made)
    return loads(made.request.content or b"")


@pytest.mark.parametrize(
    ("each", "example", "status"),
    [
        *(pytest.param(*each.values, 400, id=each.id) for each in CHANGING),
        *((*CHANGING[0].values, status) for status in (404, 422, 500)),
    ],
)
def test_request_is_sent_again_in_the_form_that_is_asked_for(
    proxy: Proxy,
    upstream: SecondAnswers,
    each: type[Adaptation],
    example: RequestExample,
    status: int,
) -> None:
    # What the host that is asked here is known to want is no matter of this test.
    known = ["reasoning-refused", "developer-role-unknown"]
    proxy.set(normalize_skip=known)
    upstream.replies = [Reply(200, "OK", JSON, dumps(GOOD_BODY))]
    assert (
        play(proxy, refused(example.before, example.refusal, status)).status_code == 200
    )
    (again,) = upstream.asked
    after = {"model": "m", **example.after}
    assert loads(again.content or b"") == after
    (record,) = proxy.records("request")
    assert set(record["fixes"]) == {each.name}
    assert record["dropped"] + record["changed"]
    # The next one is right at once, but for another client, and where it is skipped.
    assert sent(proxy, example.before) == after
    assert sent(proxy, example.before, "Bearer another") == {
        "model": "m",
        **example.before,
    }
    proxy.set(normalize_skip=[*known, each.name])
    assert sent(proxy, example.before) == {"model": "m", **example.before}


@pytest.mark.parametrize(("end", "status"), [([STOP, DONE], 200), ([], 502)])
def test_stream_in_the_place_of_a_body_has_to_be_whole(
    proxy: Proxy, upstream: SecondAnswers, end: Any, status: int
) -> None:
    events = [("content-type", "text/event-stream")]
    upstream.replies = [Reply(200, "OK", events, wire([TEXT, *end]))]
    (form,) = (each for each in FORMS if each.name == "stream-required")
    made = play(proxy, refused(form.examples[0].before, form.examples[0].refusal))
    assert made.status_code == status
    assert loads(made.content or b"").keys() >= {"choices" if end else "error"}


def test_form_that_is_known_to_be_wanted_is_sent_at_once(proxy: Proxy) -> None:
    (form,) = (each for each in FORMS if each.name == "system-message-late")
    example = form.examples[0]
    proxy.set(normalize_adapt=[f"*.nvidia.com:{form.name}"])
    assert sent(proxy, example.before) == {"model": "m", **example.after}


# -- what the client forgot -----------------------------------------------------------

THOUGHTS = (
    b"The `reasoning_content` in the thinking mode must be passed back to the API."
)
SIGNED = {"extra_content": {"google": {"thought_signature": "s"}}}
CALL = {"id": "c77", "type": "function", "function": {"name": "f", "arguments": "{}"}}
HISTORY: Any = {
    "messages": [
        {"role": "user", "content": "Weather?"},
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "c77", "content": "sunny"},
    ]
}


def answered(proxy: Proxy, *deltas: Any) -> None:
    """Let the client get an answer as a stream."""
    chunks = [chunk({"role": "assistant", "content": ""}), *map(chunk, deltas)]
    made = chat_flow(request={"model": "m", "stream": True})
    proxy.stream(made, wire([*chunks, chunk({}, finish="stop"), DONE]))


def put_back(proxy: Proxy, upstream: SecondAnswers, key: str | None = None) -> Any:
    """Return the message that is sent once the provider has refused it."""
    words = dumps({"error": {"message": THOUGHTS.decode()}})
    upstream.replies = [Reply(200, "OK", JSON, dumps(GOOD_BODY))]
    made = refused(HISTORY, words)
    if key is not None:
        made.request.headers["authorization"] = key
    assert play(proxy, made).status_code == 200
    return loads(upstream.asked[-1].content or b"")["messages"][1]


def test_reasoning_of_a_call_is_put_back_for_its_client_alone(
    proxy: Proxy, upstream: SecondAnswers
) -> None:
    answered(
        proxy,
        {"reasoning_content": "So "},
        {"reasoning_content": "the weather."},
        {"tool_calls": [{**CALL, "index": 0}]},
    )
    assert sent(proxy, HISTORY) == {"model": "m", **HISTORY}  # nobody has refused it
    assert put_back(proxy, upstream, "Bearer another")["reasoning_content"] == " "
    assert put_back(proxy, upstream)["reasoning_content"] == "So the weather."
    (_, message, _) = sent(proxy, HISTORY)["messages"]
    assert message["reasoning_content"] == "So the weather."


def test_reasoning_of_a_text_is_put_back(proxy: Proxy, upstream: SecondAnswers) -> None:
    answered(proxy, {"reasoning_content": "Hm."}, {"content": "Hel"}, {"content": "lo"})
    words = dumps({"error": {"message": THOUGHTS.decode()}})
    part = {"type": "text", "text": "Hello"}
    for content in ("Hello", [part]):
        upstream.replies = [Reply(200, "OK", JSON, dumps(GOOD_BODY))]
        asked = {"messages": [{"role": "assistant", "content": content}]}
        play(proxy, refused(asked, words))
        (message,) = loads(upstream.asked[-1].content or b"")["messages"]
        assert message["reasoning_content"] == "Hm."


def test_signature_of_a_call_is_put_back(proxy: Proxy, upstream: SecondAnswers) -> None:
    answered(proxy, {"tool_calls": [{**CALL, **SIGNED, "index": 0}]})
    words = b'[{"error":{"message":"Function call is missing a thought_signature"}}]'
    upstream.replies = [Reply(200, "OK", JSON, dumps(GOOD_BODY))]
    assert play(proxy, refused(HISTORY, words)).status_code == 200
    (again,) = upstream.asked
    assert loads(again.content or b"")["messages"][1]["tool_calls"] == [CALL | SIGNED]


# -- words that ask for nothing known ---------------------------------------------------


def test_words_that_ask_for_nothing_known_are_logged_without_the_request(
    proxy: Proxy, upstream: SecondAnswers
) -> None:
    secret = "Tell nobody about Zanzibar."
    words = f"Frobnication is off. You said: {secret} Bearer nvapi-key"
    asked = {"messages": [{"role": "user", "content": secret}]}
    play(proxy, refused(asked, dumps({"error": {"message": words}}), 422))
    play(proxy, refused(asked, b'{"error":{"message":"No."}}', 429))
    (record,) = proxy.records("refusal")
    names = Path(__file__).parents[2] / "package" / "public_names.json"
    assert [*record] == json.loads(names.read_text("utf-8"))["log"]["refusal"]
    assert (record["status"], record["model"]) == (422, "m")
    assert record["words"].startswith("Frobnication is off. You said: ")
    assert not {"Zanzibar", "nvapi"} & {*record["words"].replace("-", " ").split()}
    assert upstream.asked == []
