from typing import Any

import pytest
from mitmproxy import contentviews, http
from mitmproxy.test import tflow

from llm_normalize.record import KEY
from llm_normalize.view import BeforeAfter

VIEW = BeforeAfter()


def shown(**more: Any) -> contentviews.Metadata:
    """Return what mitmproxy tells a view of a response with this record."""
    flow = tflow.tflow(resp=True)
    flow.metadata[KEY] = {
        "v": 1,
        "observe": False,
        "end": "complete",
        "events": 3,
        "changed": 1,
        "fixes": [["content-null", 2]],
        "pairs": [],
        "left_out": 0,
        "body_cut": False,
        **more,
    }
    return contentviews.Metadata(flow=flow, http_message=flow.response)


def pair(before: bytes | None, *after: bytes) -> list[Any]:
    return [7, 12.5, ["content-null", "role-null"], before, list(after)]


def text(**more: Any) -> str:
    return VIEW.prettify(b"", shown(**more))


def not_ours() -> list[contentviews.Metadata]:
    flow = tflow.tflow(resp=True)
    of_request = shown()
    assert isinstance(of_request.flow, http.HTTPFlow)
    of_request.http_message = of_request.flow.request
    strange = shown()
    assert strange.flow is not None
    strange.flow.metadata[KEY] = "a string"
    return [
        contentviews.Metadata(),
        contentviews.Metadata(flow=flow, http_message=flow.response),
        of_request,
        strange,
    ]


@pytest.mark.parametrize("metadata", not_ours())
def test_a_message_without_a_record_is_refused(metadata: contentviews.Metadata) -> None:
    assert VIEW.render_priority(b"", metadata) < 0
    with pytest.raises(ValueError, match="not an answer"):
        VIEW.prettify(b"", metadata)


def test_the_view_comes_first_where_something_was_repaired() -> None:
    assert VIEW.render_priority(b"", shown()) > 2  # mitmproxy's own give 1 or 2
    assert 0 < VIEW.render_priority(b"", shown(fixes=[])) < 1


def test_mitmproxy_takes_it_for_a_view() -> None:
    assert isinstance(VIEW, contentviews.Contentview)
    assert VIEW.name == "Before/After"


def test_the_summary_counts_events_and_fixes() -> None:
    assert text(fixes=[["content-null", 12], ["bom-sent", 1]]) == (
        "1 of 3 events repaired\n    12 x content-null\n     1 x bom-sent\n"
    )


def test_observe_says_that_nothing_was_changed() -> None:
    assert text(observe=True, fixes=[]) == "1 of 3 events would be repaired (observe)\n"


def test_an_early_end_and_a_cut_body_are_said() -> None:
    assert text(fixes=[], end="client-left", body_cut=True) == (
        "1 of 3 events repaired\n"
        "the answer ended early: client-left\n"
        "the answer was too long to keep: other views show its beginning\n"
    )


def test_a_changed_event_is_shown_before_and_after() -> None:
    assert text(fixes=[], pairs=[pair(b"data: a\n\n", b"data: b\n\n")]) == (
        "1 of 3 events repaired\n"
        "\n"
        "@@ event 7, 12.5 ms: content-null, role-null @@\n"
        "- data: a\n"
        "+ data: b\n"
    )


def test_a_dropped_a_split_and_an_added_event_are_shown() -> None:
    pairs = [pair(b"data: a\n\n"), pair(b"data: a\n\n", b"data: b\n\n", b"data: a\n\n")]
    lines = text(pairs=[*pairs, pair(None, b"data: [DONE]\n\n")]).splitlines()
    head = "@@ event 7, 12.5 ms: content-null, role-null @@"
    assert lines[2:] == [
        "",
        head,
        "- data: a",
        "",
        head,
        "+ data: b",
        "  data: a",
        "",
        head.replace("event", "added at event"),
        "+ data: [DONE]",
    ]


def test_the_hints_of_the_diff_are_left_out() -> None:
    long = b'data: {"content":"the same text","x":%s}\n\n'
    lines = text(pairs=[pair(long % b"1", long % b"2")]).splitlines()
    assert [line[0] for line in lines[4:]] == ["-", "+"]


def test_pairs_that_were_left_out_are_counted() -> None:
    assert text(left_out=4).endswith("\n\nand 4 more, see the pairs log\n")


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        (b"data: a\r\n\r\n", ["- data: a\\r", "- \\r"]),
        (b"data: \x1b[2J\x07\tx\n\n", ["- data: \\x1b[2J\\x07\\tx"]),
        (
            "data: \u202eevil\u2028x\x85\n\n".encode(),
            [r"- data: \u202eevil\u2028x\x85"],
        ),
        (b"data: \xff\\\n\n", ["- data: \\xff\\\\"]),
        ("data: ä '\"\n\n".encode(), ["- data: ä '\""]),
        (b"? a\n- b\n\n", ["- ? a", "- - b"]),
        (b"\n\n", []),
    ],
)
def test_hostile_bytes_are_shown_and_do_nothing(
    block: bytes, expected: list[str]
) -> None:
    assert text(pairs=[pair(block)]).split("\n")[4:-1] == expected


def test_what_all_lines_of_an_event_share_is_folded() -> None:
    # An envelope fills the screen; what changed comes at the end of the line.
    block = b'data: {"id":"x","model":"m","choices":[{"delta":{"content":%s}}]}\n\n'
    lines = text(pairs=[pair(block % b"null", block % b'""')]).splitlines()
    assert lines[4:] == [
        '- data: …"delta":{"content":null}}]}',
        '+ data: …"delta":{"content":""}}]}',
    ]
