import json
from typing import Any

import pytest

from llm_normalize.line import _PIECES, Known, line

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


def known(text: bytes, *, observe: bool = False) -> tuple[Known, dict[str, Any]]:
    """Return a pair as it is handed over for an event that a template knew, and as any."""
    before, after = HEAD + text + TAIL, b"-" + HEAD + text + b", more" + TAIL
    edges = (len(HEAD), len(TAIL), len(HEAD) + 1, len(TAIL) + 6)
    record = PAIR | {"before": before, "after": [after]}
    if observe:
        record |= {"mode": "observe"}
    return (
        "8f3b",
        7,
        12.5,
        ("role-null", "field-null"),
        before,
        after,
        edges,
        observe,
    ), record


@pytest.mark.parametrize(
    "text", [b"Hi", b"\\n\\\\", "é\u2028😀".encode(), b"input", b"sk-1"]
)
@pytest.mark.parametrize("secrets", [(), ("sk-1",), ('a "secret"', "sk-1"), ('Hi"}',)])
@pytest.mark.parametrize("observe", [False, True])
def test_a_pair_that_a_template_knew_reads_as_any(
    text: bytes, secrets: tuple[str, ...], observe: bool
) -> None:
    pair, record = known(text, observe=observe)
    for _ in range(2):  # the second time its pieces are known
        assert line(pair, secrets) == line(record, secrets)
    assert b"sk-1" not in line(pair, ("sk-1",))


def test_what_is_kept_of_pieces_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("llm_normalize.line._MOST", 20)
    monkeypatch.setattr("llm_normalize.line._MOST_KEYS", 3)
    for at in range(100):
        text = b"word %d" % at
        for secrets in (("first secret",), (f"secret {at}",)):
            said = json.loads(line(known(text)[0], secrets))["before"]
            assert said == (HEAD + text + TAIL).decode()
    assert len(_PIECES) <= 4
    assert all(len(each) <= 26 for each in _PIECES.values())


def test_another_record_is_json() -> None:
    assert told({"type": "flow", "model": "\ud83d"}) == {
        "type": "flow",
        "model": "\ud83d",
    }
