from typing import Any

import pytest
from mitmproxy import contentviews, http
from mitmproxy.test import tflow

from llm_normalize.records.snapshot import KEY
from llm_normalize.views.before_after import BeforeAfter
from records.stored import RECORD, row

VIEW = BeforeAfter()


def shown(**more: Any) -> contentviews.Metadata:
    """Return what mitmproxy tells a view of a response with this record."""
    flow = tflow.tflow(resp=True)
    flow.live = True
    flow.metadata[KEY] = RECORD | more
    return contentviews.Metadata(flow=flow, http_message=flow.response)


def text(**more: Any) -> str:
    return VIEW.prettify(b"", shown(**more))


def events(*rows: list[Any], **more: Any) -> list[str]:
    """Return the lines below the summary."""
    lines = text(fixes=[], pairs=list(rows), **more).splitlines()
    return lines[lines.index(" ", 2) + 1 :]


def delta(said: str) -> bytes:
    return b'data: {"id":"x","choices":[{"delta":{%s}}]}\n\n' % said.encode()


HEAD = "event 7, 12.5 ms: content-null, role-null"


def not_ours() -> list[contentviews.Metadata]:
    flow = tflow.tflow(resp=True)
    of_request = shown()
    assert isinstance(of_request.flow, http.HTTPFlow)
    of_request.http_message = of_request.flow.request
    strange = shown()
    assert strange.flow is not None
    strange.flow.metadata[KEY] = "a string"
    older = shown()
    assert older.flow is not None
    older.flow.metadata[KEY] = RECORD | {"v": 1}
    return [
        contentviews.Metadata(),
        contentviews.Metadata(flow=flow, http_message=flow.response),
        of_request,
        strange,
        older,
    ]


@pytest.mark.parametrize("metadata", not_ours())
def test_a_message_without_a_record_is_refused(metadata: contentviews.Metadata) -> None:
    assert VIEW.render_priority(b"", metadata) < 0
    with pytest.raises(ValueError, match="not an answer"):
        VIEW.prettify(b"", metadata)


def test_the_view_comes_first_where_something_was_repaired() -> None:
    assert VIEW.render_priority(b"", shown()) > 2  # mitmproxy's own give 1 or 2
    assert 0 < VIEW.render_priority(b"", shown(fixes=[])) < 1


def test_a_flow_tells_all_there_is_before_it_is_shown() -> None:
    asked = shown(events=1)

    def refresh(flow: http.HTTPFlow) -> None:
        flow.metadata[KEY] = RECORD | {"events": 9}

    assert BeforeAfter(refresh).prettify(b"", asked).startswith("1 of 9 events")


def test_the_summary_says_whose_answer_it_is_and_what_was_repaired() -> None:
    assert text(fixes=[["role-null", 1200], ["a-fix\x1b", 1]], changed=1201).split("\n") == [
        "1,201 of 3 events repaired",
        " ",
        "provider  api.test",
        "model     acme-1",
        "answer    status 200, stream, complete",
        "time      first event after 312 ms, all after 4,210 ms",
        " ",
        '1,200 x role-null: delta.role: null or "" -> removed',
        '        Strict clients fail to parse it (Vercel AI SDK: expected "assistant");',
        '        naive ones show "null".',
        r"    1 x a-fix\x1b",
        "",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("more", "first", "answer"),
    [
        ({"received": 429}, "error, repaired", "429, body"),
        ({"received": 200, "status": 502}, "error, repaired", "200 -> 502, "),
        (
            {"received": 429, "fixes": []},
            "error, as it was received",
            "429, body, complete",
        ),
        ({"observe": True}, "error, would be repaired (observe)", "429, body"),
        ({"status": 200, "received": 201}, "1 of 3 events", "201 -> 200, "),
    ],
)
def test_an_error_is_no_answer_that_was_repaired(
    more: dict[str, Any], first: str, answer: str
) -> None:
    received = more.pop("received", None)
    both = {"status": 429, "received_status": received}
    shown = text(stream=False, **(both | more))
    assert shown.startswith(first)
    assert f"\nanswer    status {answer}" in shown


@pytest.mark.parametrize(
    ("end", "said"),
    [
        ("client-left", "ended early: the client left"),
        ("upstream-broke", "ended early: the provider broke off"),
        ("running", "still running"),
        ("\x1b[2J", r"\x1b[2J"),
    ],
)
def test_how_it_ended_is_reported(end: str, said: str) -> None:
    assert f"answer    status 200, body, {said}\n" in text(stream=False, end=end)


def test_an_answer_that_never_arrived_and_a_cut_one_are_reported() -> None:
    reported = text(status=None, end="error", first_ms=None, model="", is_cut=True)
    assert "model     -\nanswer    stream, none arrived\n" in reported
    assert "time      all after 4,210 ms\nstored    its beginning only" in reported


def test_a_changed_field_is_named_and_shown_before_and_after() -> None:
    before = delta('"role":null,"content":"Hi"')
    assert events(row(before, delta('"content":"Hi"'))) == [
        HEAD,
        "    choices[0].delta.role: null → removed",
        '  - data: …"delta":{"role":null,"content":"Hi"}…',
        '  + data: …"delta":{"content":"Hi"}…',
    ]


def test_a_dropped_a_split_and_an_added_event_are_shown() -> None:
    dropped = row(b"data: a\n\n")
    split = row(b"data: a\n\n", b"data: b\n\n", b"data: a\n\n")
    added = row(None, b"data: b\n\n", n=1)
    closing = row(None, b"data: [DONE]\n\n", n=3)
    assert events(dropped, split, added, closing) == [
        HEAD,
        "    event: data: a → removed",
        "  - data: a",
        " ",
        HEAD,
        "    event: data: a → data: b",
        "    event: added data: a",
        "  - data: a",
        "  + data: b",
        "  + data: a",
        " ",
        HEAD.replace("event 7", "added after event 1"),
        "    event: added data: b",
        "  + data: b",
        " ",
        HEAD.replace("event 7", "added at the end"),
        "    event: added data: [DONE]",
        "  + data: [DONE]",
    ]


def test_event_that_only_left_later_is_said_to_be_the_same() -> None:
    block = b"data: a\n\n"
    assert events(row(block, block)) == [HEAD, "    the event itself is as it was"]


def test_a_chunk_that_became_several_is_shown_beside_them() -> None:
    words = "The mill brook runs past the old weir and on to the sea. " * 9

    def choice(delta: str, finish: str) -> bytes:
        inner = f'{{"index":0,"delta":{{{delta}}},"finish_reason":{finish}}}'
        return b'data: {"id":"x","choices":[%s]}\n\n' % inner.encode()

    text = f'"content":"{words}"'
    before = choice(text, '"stop"')
    split = row(before, choice(text, "null"), choice("", '"stop"'))
    short = f'"content":"{words[:48]}…{words[-48:]}"'
    assert events(split) == [
        HEAD,
        "    1 chunk became 2",
        f'  - data: …"delta":{{{short}}},"finish_reason":"stop"}}]}}',
        f'  + data: …"delta":{{{short}}},"finish_reason":null}}]}}',
        '  + data: …"delta":{},"finish_reason":"stop"}]}',
    ]
    alike = row(before, choice(text, "null"), choice("", '"stop"'), n=8)
    assert events(split, alike)[-1] == "    next 1 event: 1 chunk became 2 (to event 8)"


def test_what_changed_in_a_long_line_is_in_sight() -> None:
    words = "The mill brook runs past the old weir and on to the sea. " * 99
    probability = '{"token":"a","logprob":-0.5,"top_logprobs":[]}'
    chances = f'"logprobs":{{"content":[{",".join([probability] * 99)}]}}'
    before = delta(f'"content":"{words}","role":null}},{chances},"usage":{{"a":1')
    after = delta(f'"content":"{words}"}},{chances},"usage":{{"a":2')
    _, role, usage, *lines = events(row(before, after))
    assert (role, usage) == (
        "    choices[0].delta.role: null → removed",
        "    choices[0].usage.a: 1 → 2",
    )
    assert [len(each) < 300 for each in lines] == [True, True]
    assert '"role":null},"logprobs":{"content":…},"usage":{"a":1}' in lines[0]
    assert '"},"logprobs":{"content":…},"usage":{"a":2}' in lines[1]


def test_texts_that_differ_are_shown_where_they_do() -> None:
    words = "The mill brook runs past the old weir and on to the sea. " * 99
    sides = [delta(f'"content":"{words}{each}{words}"') for each in ("AND", "or")]
    _, change, *lines = events(row(sides[0], sides[1]))
    around = ("…weir and on to the sea. ", "The mill brook runs past…")
    assert change == (
        f'    choices[0].delta.content: "{"AND".join(around)}" → "{"or".join(around)}"'
    )
    assert [line[4:] for line in lines] == [
        f'data: …"delta":{{"content":"{each.join(around)}"}}…' for each in ("AND", "or")
    ]


def null(word: str) -> tuple[bytes, bytes]:
    return delta(f'"role":null,"content":"{word}"'), delta(f'"content":"{word}"')


def test_events_that_were_changed_alike_are_one() -> None:
    before, after = null("Hi")
    last, left = null("you")
    run = row(before, after, alike=(212, [219, last, [left]]))
    assert events(run)[-1] == (
        "    next 212 events: choices[0].delta.role: null → removed (to event 219)"
    )


def test_rows_that_say_the_same_are_one_and_what_differs_is_left_out() -> None:
    rows = [
        row(delta(f'"role":null,"content":"{n}"'), delta('"content":""'), n=n)
        for n in range(5)
    ]
    lines = events(*rows)
    assert lines[0].startswith("event 0, ")
    assert lines[-1] == (
        "    next 4 events: choices[0].delta.role: null → removed; "
        'choices[0].delta.content: … → "" (to event 4)'
    )
    assert not [line for line in lines[1:] if line.startswith("event")]


def test_rows_of_other_fixes_or_fields_are_shown_apart() -> None:
    role, content = row(*null("Hi")), row(*null("Hi"), n=8)
    content[2] = ["content-null"]
    other = row(delta('"x":1'), delta('"y":1'), n=9)
    heads = [line for line in events(role, content, other) if line.startswith("event")]
    said = [head.partition(",")[0] for head in heads]
    assert said == ["event 7", "event 8", "event 9"]


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        (b"data: a\r\n\r\n", ["  - data: a\\r", "  - \\r"]),
        (b"data: \x1b[2J\x07\tx\n\n", ["  - data: \\x1b[2J\\x07\\tx"]),
        (
            "data: \u202eevil\u2028x\x85\n\n".encode(),
            [r"  - data: \u202eevil\u2028x\x85"],
        ),
        (b"data: \xff\\\n\n", ["  - data: \\xff\\\\"]),
        ("data: ä '\"\n\n".encode(), ["  - data: ä '\""]),
        (b"? a\n- b\n\n", ["  - ? a", "  - - b"]),
        (b"\n\n", []),
    ],
)
def test_hostile_bytes_are_shown_and_do_nothing(
    block: bytes, expected: list[str]
) -> None:
    lines = events(row(block))
    assert lines[2:] == expected
    assert "\n".join(lines).replace("\n", "").isprintable()


def test_hostile_names_and_values_are_shown_and_do_nothing() -> None:
    hostile = "\x1b]0;x\x07\u202e<script>\n"
    block = delta(f'"{hostile.strip()}":"{hostile.strip()}"')
    reported = text(host=hostile, model=hostile, pairs=[row(block, delta(""))])
    assert reported.replace("\n", "").isprintable()
