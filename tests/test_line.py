import json
from typing import Any

import pytest

from llm_normalize.line import line

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


def test_another_record_is_json() -> None:
    assert told({"type": "flow", "model": "\ud83d"}) == {
        "type": "flow",
        "model": "\ud83d",
    }
