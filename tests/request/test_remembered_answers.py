import time
import tracemalloc
from typing import Any

import pytest

from llm_normalize.chat.state.said_answer import SaidAnswer
from llm_normalize.request import remembered_answers as module
from llm_normalize.request.adaptation import Recalled, no_memory
from llm_normalize.request.remembered_answers import RememberedAnswers

ME, OTHER = b"me", b"other"
SIGNED = {"extra_content": {"google": {"thought_signature": "s"}}}


def said(reasoning: str = "Hm.", text: str = "", **calls: Any) -> SaidAnswer:
    made = SaidAnswer()
    made.note({"reasoning_content": reasoning})
    made.note({"content": text})
    for at, (name, more) in enumerate(calls.items()):
        made.note({"tool_calls": [{"index": at, "id": name, **(more or {})}]})
    return made


def test_answer_is_known_by_its_calls_or_else_by_its_text() -> None:
    answers = RememberedAnswers()
    answers.add(ME, "a.test", 443, said(text="Hi", a=None, b=SIGNED))
    answers.add(ME, "a.test", 443, said("Well.", " Hello\n"))
    memory = answers.of(ME, "a.test", 443)
    assert memory("call", "a") == Recalled("Hm.")
    assert memory("call", "b") == Recalled("Hm.", SIGNED)
    assert memory("text", "Hello") == Recalled("Well.")
    assert memory("text", "Hi") is None
    for name in (None, "", 7, ["Hello"]):
        assert memory("call", name) is None
        assert memory("text", name) is None
    assert no_memory("call", "a") is no_memory("text", "Hello") is None


def test_answer_is_known_to_its_client_at_its_host_alone() -> None:
    answers = RememberedAnswers()
    answers.add(ME, "a.test", 443, said(a=None))
    places = [(OTHER, "a.test", 443), (ME, "b.test", 443), (ME, "a.test", 8443)]
    for client, host, port in places:
        assert answers.of(client, host, port)("call", "a") is None


def test_the_last_answer_with_an_id_counts() -> None:
    answers = RememberedAnswers()
    for reasoning in ("One.", "Two."):
        answers.add(ME, "a.test", 443, said(reasoning, a=None))
    assert answers.of(ME, "a.test", 443)("call", "a") == Recalled("Two.")


def test_what_is_old_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    answers = RememberedAnswers()
    memory = answers.of(ME, "a.test", 443)
    answers.add(ME, "a.test", 443, said(a=None))
    now = module.AGE
    assert memory("call", "a")
    now += 1
    answers.add(ME, "a.test", 443, said(b=None))
    assert memory("call", "a") is None
    now += module.AGE + 1
    assert memory("call", "b") is None


def test_answer_without_anything_to_remember_is_not_kept() -> None:
    answers = RememberedAnswers()
    answers.add(ME, "a.test", 443, said("", "Hi"))
    answers.add(ME, "a.test", 443, said("", a=None))
    answers.add(ME, "a.test", 443, said("x" * (module._EACH + 1), a=None))
    memory = answers.of(ME, "a.test", 443)
    assert memory("call", "a") is memory("text", "Hi") is None


@pytest.mark.parametrize(("count", "size"), [(3, 10**9), (10**9, 3 * (3 + 256))])
def test_the_oldest_goes_first(
    monkeypatch: pytest.MonkeyPatch, count: int, size: int
) -> None:
    monkeypatch.setattr(module, "COUNT", count)
    monkeypatch.setattr(module, "SIZE", size)
    answers = RememberedAnswers()
    for name in "abcd":
        answers.add(ME, "a.test", 443, said("Hm.", "", **{name: None}))
    memory = answers.of(ME, "a.test", 443)
    assert [memory("call", name) is None for name in "abcd"] == [
        True,
        False,
        False,
        False,
    ]


def test_memory_is_level() -> None:
    answers = RememberedAnswers()
    tracemalloc.start()
    for n in range(module.COUNT * 2):
        answers.add(
            ME,
            "a.test",
            443,
            said(f"Thought {n}. " + "x" * 4096, "", **{f"c{n}": None}),
        )
        if n == module.COUNT:
            before, _ = tracemalloc.get_traced_memory()
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert after < before * 1.1
