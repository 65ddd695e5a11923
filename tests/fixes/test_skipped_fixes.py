"""Fixes stand alone: who skips one keeps its quirk, whatever the others repair."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from each_case import each_case
from llm_normalize.fixes import EVERY_FIX, FIXES
from llm_normalize.fixes.envelope import SystemFingerprintNotText
from llm_normalize.repair.engine.body import repair_body
from llm_normalize.repair.fix import Example, Fix, wire
from llm_normalize.wire.json_text import dumps
from streams import alone, feed

type Leaf = tuple[object, ...]

ANOTHER = {"system_fingerprint": 7}


def leaves(value: Any, *path: str) -> Iterator[Leaf]:
    """Yield each value in *value* that holds no other, with the keys that lead to it."""
    if isinstance(value, dict) and value:
        for key, each in value.items():
            yield from leaves(each, *path, key)
    elif isinstance(value, list) and value:
        for each in value:
            yield from leaves(each, *path)
    else:
        yield *path, json.dumps(value)


def said(data: bytes) -> Counter[Leaf]:
    """Return what events or a body say, value by value; what is no JSON by lines."""
    found: Counter[Leaf] = Counter()
    for line in data.split(b"\n"):
        try:
            found.update(leaves(json.loads(line.removeprefix(b"data: "))))
        except ValueError:
            found[line,] += 1
    return found


def given(example: Example, events: Iterable[Any]) -> bytes:
    """Return the bytes of *events*, or of the one body."""
    if example.kind == "stream":
        return wire([*events])
    (body,) = events
    return body if isinstance(body, bytes) else dumps(body)


def repaired(
    example: Example, data: bytes, fixes: list[type[Fix]]
) -> tuple[bytes, int | None]:
    """Return what *fixes* make of *data*, and its status if they set one."""
    if example.kind == "stream":
        return b"".join(feed([data], example.asked, fixes)), None
    status = example.status if example.kind == "error" else 200
    record = repair_body(data, status, example.asked, fixes)
    return record.after[0], record.status


def keeps_quirk(fix: type[Fix], example: Example, skipped: set[str]) -> bool:
    """Tell whether the quirk of *example* is still there without the fixes *skipped*.

    It is if the fix still finds it, and all that the fix takes away stands there.
    """
    others = [each for each in FIXES if each.name not in skipped]
    before, after = given(example, example.before), given(example, example.after)
    out, status = repaired(example, before, others)
    if example.changes_status is not None:
        return status is None
    removed = said(before) - said(after)
    removed = Counter({k: n for k, n in removed.items() if k[0] not in ANOTHER})
    return removed <= said(out) and repaired(example, out, alone(fix))[0] != out


def changing(fix: type[Fix]) -> list[Example]:
    return [each for each in fix.examples if each.changes and each.kind != "answer"]


def beside_another(example: Example) -> Example:
    """Return *example* with another quirk in each chunk, so that each is repaired."""
    before, after = (
        [each if isinstance(each, bytes) else each | ANOTHER for each in events]
        for events in (example.before, example.after)
    )
    return replace(example, before=before, after=after)


CHANGING = [
    pytest.param(fix, example, id=f"{fix.name}/{example.name}")
    for fix in EVERY_FIX
    for example in changing(fix)
]
BESIDE = [
    pytest.param(fix, beside_another(example), id=f"{fix.name}/{example.name}/beside")
    for fix in EVERY_FIX
    for example in changing(fix)
    if fix is not SystemFingerprintNotText and example.kind != "error"
]


@each_case([*CHANGING, *BESIDE])
def test_quirk_of_a_skipped_fix_stays(fix: type[Fix], example: Example) -> None:
    assert keeps_quirk(fix, example, {fix.name, *fix.also_covered_by})


COVERED = [
    pytest.param(fix, name, id=f"{fix.name}/{name}")
    for fix in EVERY_FIX
    for name in fix.also_covered_by
]


@pytest.mark.parametrize(("fix", "name"), COVERED)
def test_declared_overlap_is_one(fix: type[Fix], name: str) -> None:
    assert name in {each.name for each in FIXES} - {fix.name}
    skipped = {fix.name, *fix.also_covered_by} - {name}
    examples = changing(fix)
    examples += [*map(beside_another, examples)]
    assert not all(keeps_quirk(fix, each, skipped) for each in examples)
