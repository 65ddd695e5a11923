"""A call of a custom tool is one, however its provider tells it."""

import copy
from typing import Any

import pytest

from judge.responses import check_events
from llm_normalize.native_fixes.native_fix import REQUEST
from llm_normalize.native_fixes.response_events import (
    added,
    begin,
    call,
    done,
    end,
    of_call,
)
from llm_normalize.protocols.native_readers import native_reader
from native_faults import ALL, made

PATCH = "*** Begin Patch"
ARGUMENTS = '{"input":"*** Begin Patch"}'
ASKED = {**REQUEST, "tools": [{"type": "custom", "name": "f"}]}


BEFORE = [
    *(*begin(), added(2, call()), of_call("delta", 3, delta=ARGUMENTS)),
    of_call("done", 4, arguments=ARGUMENTS),
    *(done(5, call(ARGUMENTS)), end(6, call(ARGUMENTS))),
]

LATE = {"P7: a late name", "P7: empty in done", "P3: hardly a response"}
"""Its name comes last, or what Codex would not know either."""


def repaired(events: list[Any], request: Any = ASKED) -> list[tuple[str, Any]]:
    reader = native_reader("responses", request, "exchange", created=1)
    out = [sent for each in events for sent in reader.event(each["type"], each).events]
    return [*out, *reader.end().events]


@pytest.mark.parametrize("name", sorted({*ALL} - LATE))
def test_faults_of_its_events_are_repaired_alike(name: str) -> None:
    out = repaired(made(BEFORE, ALL[name]))
    assert check_events(out) == []
    (item,) = out[-1][1]["response"]["output"]
    assert (item["type"], item["input"]) == ("custom_tool_call", PATCH)


@pytest.mark.parametrize("key", ["patch", "input", "diff"])
def test_text_is_that_of_any_argument_however_it_is_cut(key: str) -> None:
    arguments = f'{{"{key}": "{PATCH}"}}'
    for cut in range(len(arguments)):
        events = copy.deepcopy(BEFORE)
        first, last = copy.deepcopy(events[3]), events[3]
        first["delta"], last["delta"] = arguments[:cut], arguments[cut:]
        events[4]["arguments"] = events[5]["item"]["arguments"] = arguments
        events[-1]["response"]["output"][0]["arguments"] = arguments
        out = repaired([*events[:3], first, *events[3:]])
        assert "".join(each.get("delta", "") for _, each in out) == PATCH
        assert check_events(out) == []
