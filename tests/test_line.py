import json
from typing import Any

import pytest

from llm_normalize.line import _PIECES, line

PAIR: dict[str, Any] = {
    "type": "pair",
    "v": 1,
    "flow": "8f3b",
    "n": 7,
    "ms": 12.5,
    "fixes": ["role-null", "field-null"],
    "before": 'data: {"a":"\u00e9 \\\\ \\"\u2028"}\n\n'.encode(),
    "after": [b"data: 1\n\n", b"\xff\\"],
}


def told(record: dict[str, Any], *secrets: str) -> Any:
    data = line(record, secrets)
    assert data.endswith(b"\n")
    assert data.count(b"\n") == 1
    return json.loads(data)


def test_a_pair_is_told_in_full_and_in_order() -> None:
    found = told(PAIR)
    assert list(found) == list(PAIR)
    assert found == PAIR | {
        "before": PAIR["before"].decode(),
        "after": ["data: 1\n\n", r"\xff\\"],
    }


@pytest.mark.parametrize("more", [{"mode": "observe"}, {}])
@pytest.mark.parametrize("before", [None, b"", b"x"])
@pytest.mark.parametrize("after", [[], [b"a"], [b"a", b"b"]])
@pytest.mark.parametrize("fixes", [[], ["a-fix"]])
def test_a_pair_reads_as_json_dumps_would_have_written_it(
    more: dict[str, str], before: bytes | None, after: list[bytes], fixes: list[str]
) -> None:
    record = PAIR | {"before": before, "after": after, "fixes": fixes} | more
    texts = {
        "before": None if before is None else before.decode(),
        "after": [each.decode() for each in after],
    }
    spelled = json.dumps(record | texts, separators=(",", ":"))
    assert line(record) == spelled.encode() + b"\n"


def test_secrets_and_echoes_are_masked_in_all_texts_of_a_pair() -> None:
    record = PAIR | {"before": b"key sk-1", "after": [b"sk-1", b'{"input": "x"}']}
    found = told(record, "sk-1")
    assert found["before"] == "key ***"
    assert found["after"] == ["***", '{"input":"***"}']


HEAD, TAIL = b'data: {"content":"', b'"}\n\n'


def in_pieces(text: bytes, more: bytes = b"") -> dict[str, Any]:
    """Return a pair as it is handed over for an event that a template knew."""
    before, after = [HEAD, text, TAIL], [HEAD, text, more + TAIL]
    raw = {"before": b"".join(before), "after": [b"".join(after)]}
    return PAIR | raw | {"pieces": (before, after)}


@pytest.mark.parametrize(
    "text", [b"Hi", b"\\n\\\\", "é\u2028😀".encode(), b"input", b"sk-1"]
)
@pytest.mark.parametrize("secrets", [(), ("sk-1",), ('a "secret"', "sk-1"), ('Hi"}',)])
def test_a_pair_in_pieces_reads_as_one_without(
    text: bytes, secrets: tuple[str, ...]
) -> None:
    record = in_pieces(text)
    whole = record | {"pieces": None}
    for _ in range(2):  # the second time its pieces are known
        assert line(record, secrets) == line(whole, secrets)
    assert b"sk-1" not in line(record, ("sk-1",))


def test_what_is_kept_of_pieces_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("llm_normalize.line._MOST", 20)
    monkeypatch.setattr("llm_normalize.line._MOST_KEYS", 3)
    for at in range(100):
        text = b"word %d" % at
        for secrets in (("first secret",), (f"secret {at}",)):
            assert (
                told(in_pieces(text), *secrets)["before"]
                == (HEAD + text + TAIL).decode()
            )
    assert len(_PIECES) <= 4
    assert all(len(each) <= 23 for each in _PIECES.values())


def test_another_record_is_json() -> None:
    assert told({"type": "flow", "model": "\ud83d"}) == {
        "type": "flow",
        "model": "\ud83d",
    }
