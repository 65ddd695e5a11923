"""The head of a prompt stays the same from turn to turn: caches of prompts live by that.

Each request of a session has what the one before had, and more behind it. So has what the
provider gets of them, message by message, and byte by byte.
"""

from itertools import count
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from llm_normalize.protocols.messages import MESSAGES
from llm_normalize.protocols.protocol import ClientProtocol
from llm_normalize.protocols.responses import RESPONSES
from llm_normalize.protocols.responses.content import packed
from llm_normalize.wire.json_text import dumps

WORDS = st.sampled_from(["", "\n", "Hi", "ä😀", "# AGENTS.md\n\nBe kind."])
ARGUMENTS = st.sampled_from(['{"a":1}', "{", "[1]", "", '{"a": "é"}'])
PIXEL = "iVBORw0KGgo="

type Turn = list[tuple[str, Any]]
"""What is said in one turn, and by whom: `user`, `system`, `text`, `thought`, `call`."""

ASKED = st.lists(
    st.tuples(st.sampled_from(["user", "user", "system", "image"]), WORDS),
    min_size=1,
    max_size=3,
)
ANSWERED = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["text", "thought"]), WORDS),
        st.tuples(st.just("call"), ARGUMENTS),
    ),
    max_size=4,
)
SESSIONS = st.lists(st.tuples(ASKED, ANSWERED), min_size=2, max_size=6)


def responses_items(session: list[tuple[Turn, Turn]]) -> list[list[Any]]:
    """Return the input of each request of a session of Codex."""
    ids, items, requests = count(), list[Any](), list[list[Any]]()
    for asked, answered in session:
        for kind, words in asked:
            content = [{"type": "input_text", "text": words}]
            if kind == "image":
                url = f"data:image/png;base64,{PIXEL}"
                content.append({"type": "input_image", "image_url": url})
            role = "developer" if kind == "system" else "user"
            items.append({"type": "message", "role": role, "content": content})
        requests.append([*items])
        outputs = []
        for kind, words in answered:
            call_id = f"c{next(ids)}"
            if kind == "text":
                content = [{"type": "output_text", "text": words}]
                items.append(
                    {"type": "message", "role": "assistant", "content": content}
                )
            elif kind == "thought":
                text = packed(words)
                items.append({"type": "reasoning", "encrypted_content": text})
            else:
                call = {"call_id": call_id, "name": "f", "arguments": words}
                items.append({"type": "function_call", **call})
                output = {"call_id": call_id, "output": words}
                outputs.append({"type": "function_call_output", **output})
        items += outputs
        if outputs:
            requests.append([*items])
    return requests


def messages_of(session: list[tuple[Turn, Turn]]) -> list[list[Any]]:
    """Return the messages of each request of a session of Claude Code."""
    ids, messages, requests = count(), list[Any](), list[list[Any]]()
    results: list[Any] = []
    for asked, answered in session:
        blocks: list[Any] = [*results]
        later: list[Any] = []
        for kind, words in asked:
            text = {"type": "text", "text": words}
            if kind == "system":
                later.append({"role": "system", "content": words})
            elif kind == "image":
                source = {"type": "base64", "media_type": "image/png", "data": PIXEL}
                blocks.append({"type": "image", "source": source})
            else:
                blocks.append(text)
        messages += [{"role": "user", "content": blocks}, *later]
        requests.append([*messages])
        said: list[Any] = []
        results = []
        for kind, words in answered:
            call_id = f"toolu_{next(ids)}"
            if kind == "text":
                said.append({"type": "text", "text": words})
            elif kind == "thought":
                said.append({"type": "thinking", "thinking": words, "signature": "s"})
            else:
                use = {"id": call_id, "name": "f", "input": words}
                said.append({"type": "tool_use", **use})
                result = {"tool_use_id": call_id, "content": words}
                results.append({"type": "tool_result", **result})
        messages.append({"role": "assistant", "content": said})
    return requests


def check(protocol: ClientProtocol, requests: list[dict[str, Any]]) -> None:
    before: list[bytes] = []
    for request in requests:
        found = protocol.translate({"model": "m", **request}).body["messages"]
        now = [*map(dumps, found)]
        assert now[: len(before)] == before
        before = now


@given(SESSIONS)
def test_head_of_a_session_of_responses_stays(
    session: list[tuple[Turn, Turn]],
) -> None:
    asked = [("user", "Begin."), *session[0][0]]
    given = [(asked, session[0][1]), *session[1:]]
    requests = [{"input": each} for each in responses_items(given)]
    check(RESPONSES, [{"instructions": "Be brief.", **each} for each in requests])


@given(SESSIONS)
def test_head_of_a_session_of_messages_stays(
    session: list[tuple[Turn, Turn]],
) -> None:
    requests = [{"messages": each} for each in messages_of(session)]
    check(MESSAGES, [{"system": "Be brief.", **each} for each in requests])
