import json
from typing import Any

import pytest

from llm_normalize.records import record_line as logged_line
from llm_normalize.records.record_line import Entry, TextPair, TextPairs, line

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


def reported(record: dict[str, Any], *secrets: str) -> Any:
    data = line(Entry(record, secrets))
    assert data.endswith(b"\n")
    assert data.count(b"\n") == 1
    return json.loads(data)


def test_secrets_and_echoes_are_masked_in_all_texts_of_a_pair() -> None:
    record = PAIR | {"before": b"key sk-1", "after": [b"sk-1", b'{"input": "x"}']}
    found = reported(record, "sk-1")
    assert found["before"] == "key ***"
    assert found["after"] == ["***", '{"input":"***"}']


HEAD, TAIL = b'data: {"content":"', b'"}\n\n'


def known(
    text: bytes,
    secrets: tuple[str, ...] = (),
    *,
    head: bytes = HEAD,
    observe: bool = False,
) -> tuple[TextPair, Entry]:
    """Return a pair as it is handed over for an event that was not parsed, and as any."""
    sides = (head, TAIL)
    new_sides = (b"-" + head, b'"again":"', b", more" + TAIL)
    form = TextPairs(
        "8f3b", secrets, ("role-null", "field-null"), 50.0, sides, new_sides, observe
    )
    record = PAIR | {"before": text.join(sides), "after": [text.join(new_sides)]}
    if observe:
        record |= {"mode": "observe"}
    return (form, 7, 50.0125, text), Entry(record, secrets)


@pytest.mark.parametrize(
    "text",
    [
        b"Hi",
        b"\\n\\\\",
        "é\u2028😀".encode(),
        b"input",
        b"sk-1",
        b"a 'body': b",
        b"'url':x",
        b"long " * 20,
    ],
)
@pytest.mark.parametrize("secrets", [(), ("sk-1",), ('a "secret"', "sk-1"), ('Hi"}',)])
@pytest.mark.parametrize("observe", [False, True])
@pytest.mark.parametrize("head", [HEAD, b'data: {"request":1,"content":"'])
def test_a_pair_that_was_not_parsed_reads_as_any(
    text: bytes, secrets: tuple[str, ...], head: bytes, observe: bool
) -> None:
    pair, entry = known(text, secrets, head=head, observe=observe)
    for _ in range(2):  # the second time its text is known
        assert line(pair) == line(entry)
    assert b"sk-1" not in line(known(text, ("sk-1",), head=head)[0])


def test_no_key_and_no_text_is_remembered_beyond_its_flow() -> None:
    for at in range(3):
        line(known(b"word-canary", (f"key-canary-{at}",))[0])
    remembered = repr(vars(logged_line))
    assert "key-canary" not in remembered
    assert "word-canary" not in remembered


def test_what_a_terminal_would_obey_is_escaped() -> None:
    unseen = "\x7f\x80\x9b\x85\u061c\u200e\u2028\u2029\u202e\u2066\ufeff\U000e0041"
    block = f"data: {unseen}é😀\n\n".encode()
    record = {"flow": "f", "n": 0, "ms": 1, "fixes": [], "before": block, "after": []}
    for entry in (
        Entry({"type": "pair", **record}),
        Entry({"type": "flow", "model": unseen + "é😀"}),
        Entry({"type": "flow", "model": "\x7f"}),
    ):
        text = line(entry).decode()
        assert text.removesuffix("\n").isprintable()
        assert text.count("\n") == 1
        assert "\\u007f" in text
        assert json.loads(text).get("model", unseen + "é😀") in (unseen + "é😀", "\x7f")
    assert (
        json.loads(line(Entry({"type": "pair", **record})))["before"] == block.decode()
    )
