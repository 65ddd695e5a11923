import math
from typing import Any

import pytest
from mitmproxy import http
from mitmproxy.test import tflow

from llm_normalize.records.flow_metadata import AnswerMetadata, read_metadata
from llm_normalize.records.snapshot import KEY
from records.stored import RECORD, row

ROW = row(b"data: a\n\n", b"data: b\n\n", alike=(1, [8, None, [b"x"]]))


def read_of(flow: http.HTTPFlow) -> AnswerMetadata | None:
    return read_metadata(flow.metadata, is_live=bool(flow.live))


def read(**more: Any) -> Any:
    flow = tflow.tflow(resp=True)
    flow.metadata[KEY] = RECORD | more
    return read_of(flow)


def test_what_the_addon_noted_is_read() -> None:
    assert read() == RECORD
    assert read(pairs=[ROW], received=None, first_ms=None, status=None)["pairs"] == [
        ROW
    ]


@pytest.mark.parametrize(
    "strange",
    [
        {"v": 1},
        {"events": -1},
        {"events": "3"},
        {"events": 10**20},
        {"total_ms": math.inf},
        {"total_ms": math.nan},
        {"total_ms": None},
        {"host": None},
        {"fixes": {}},
        {"fixes": [["a"]]},
        {"fixes": [["a", "b"]]},
        {"fixes": [["a", 1]] * 1001},
        {"pairs": [[1]]},
        {"pairs": [ROW[:-1]]},
        {"pairs": [[*ROW[:-1], [1]]]},
        {"pairs": [[*ROW[:3], "text", *ROW[4:]]]},
        {"pairs": [ROW] * 301},
        {"received": [1]},
        {"received": b"x"},
        {"is_cut": 1},
        {"end": None},
    ],
)
def test_what_has_another_form_is_none_of_it(strange: dict[str, Any]) -> None:
    assert read(**strange) is None


def test_answer_that_runs_is_that_of_a_live_flow() -> None:
    flow = tflow.tflow(resp=True)
    flow.metadata[KEY] = RECORD | {"end": "running"}
    flow.live = True
    assert (read_of(flow) or {})["end"] == "running"
    flow.live = False
    assert (read_of(flow) or {})["end"] == "unfinished"
