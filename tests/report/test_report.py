"""The report: what before/after logs say, as a page, as JSON and in short."""

import errno
import gzip
import itertools
import json
import os
import random
import re
import stat
import time
import tracemalloc
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Literal

import pytest

from html_page import HtmlPage
from llm_normalize.exchange.record.answer_record import AnswerRecord
from llm_normalize.fixes import FIXES
from llm_normalize.records.pairs_log import PairsLog
from llm_normalize.repair.fix import wire
from llm_normalize.report import charts, command, examples, timeline
from llm_normalize.report import collected as collecting
from llm_normalize.report import figures as text
from llm_normalize.report import log_reader as reader
from llm_normalize.report import page as report_page
from llm_normalize.report.as_json import as_json
from llm_normalize.report.as_text import as_text
from llm_normalize.text.printable import visible
from logged import Record, event, flow, lines, pair
from streams import feed

OUTSIDE = """
[...document.querySelectorAll("svg text")].filter(each => {
    const [inner, outer] = [each, each.closest("svg")].map(at => at.getBoundingClientRect())
    return inner.left < outer.left || inner.right > outer.right
        || inner.top < outer.top || inner.bottom > outer.bottom
}).map(each => each.textContent)
"""
"""The texts of charts that are not wholly inside them, for a browser to list."""


def gathered(*records: Record) -> collecting.Collected:
    return collecting.collected(records)


def page(found: collecting.Collected, notes: reader.Notes | None = None) -> str:
    return "".join(report_page.parts(found, notes or reader.Notes()))


# -- time ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seconds", "span"),
    [(0, 1), (47, 1), (300, 15), (3600, 300), (86_400, 3600), (30 * 86_400, 86_400)],
)
def test_bucket_fits_the_span(seconds: int, span: int) -> None:
    line = timeline.Timeline()
    for at in range(101):
        line.add(stamp(seconds * at // 100), "complete", 3, 1)
    found, buckets = line.buckets()
    assert found == span
    assert len(buckets) <= 48
    starts = [at for at, _ in buckets]
    assert starts == list(range(starts[0], starts[-1] + 1, span))
    assert sum(each.ends.get("complete", 0) for _, each in buckets) == 101
    assert sum(each.events for _, each in buckets) == 303
    assert sum(each.changed for _, each in buckets) == 101


def stamp(seconds: int) -> str:
    return text.moment(1_795_000_000 + seconds, "%Y-%m-%dT%H:%M:%SZ")


# -- examples --------------------------------------------------------------------------


def test_example_has_the_model_of_its_answer_and_what_changed() -> None:
    found = gathered(pair(), pair("Later"), flow())
    (example,) = found.examples.of("role-null")
    assert (example.host, example.model, example.pair.n) == (
        "api.acme.example",
        "acme-1",
        1,
    )
    assert [str(each) for each in example.changes] == [
        "choices[0].delta.role: null → removed"
    ]
    assert [line.kind for line in example.lines] == ["old", "new"]
    assert "role" in example.lines[0].text
    assert "Hi" in example.lines[0].text


def test_examples_are_the_shortest_of_different_models() -> None:
    records = []
    for at, model in enumerate(["a", "a", "a", "a", "b", "b", "c", "d"]):
        fixes = ["role-null", *(["id-missing"] if at % 2 else [])]
        word = "x" * (20 - at)
        records += [
            pair(word, flow=str(at), fixes=fixes),
            flow(flow=str(at), model=model),
        ]
    found = gathered(*records)
    assert [each.model for each in found.examples.of("role-null")] == ["c", "b", "a"]
    # d's, at an odd place, needed another fix as well: the others show this one better.
    scores = [each.pair.score for each in found.examples.of("role-null")]
    assert scores == sorted(scores)


def test_what_waits_for_the_end_of_its_answer_is_bounded() -> None:
    found = collecting.Collected()
    for at in range(60):
        found.add(pair("x" * 500_000, flow=str(at)))
    assert found.examples._waiting <= examples._PENDING
    assert len(found.examples._pending) <= 16
    found.examples.finish()
    assert found.examples._waiting == 0


@pytest.mark.parametrize(
    ("before", "after", "reported"),
    [
        ("data: null\n\n", [], ["old data: null", "note dropped"]),
        (": ping\n\n", ["\n"], ["old : ping", "note a bare newline remains"]),
        (
            None,
            ["data: [DONE]\n\n"],
            ["note nothing was there", "new data: [DONE]"],
        ),
        (
            "event: x\ndata: 1\n\n",
            ["data: 1\n\n"],
            ["old event: x"],
        ),
        ("data: [DONE]", ["data: [DONE]\n\n"], []),
        ("data: 1\r\n\r\n", ["data: 1\n\n"], ["old data: 1\r", "new data: 1", "old \r"]),
    ],
)  # fmt: skip
def test_lines_of_an_example_are_those_that_differ(
    before: str | None, after: list[str], reported: list[str]
) -> None:
    found = [f"{line.kind} {line.text}" for line in examples._diff(before, after)]
    assert sorted(found) == sorted(reported)


@pytest.mark.parametrize(
    "odd",
    [
        {"before": 3}, {"after": None}, {"after": "x"}, {"after": [1]}, {"fixes": None},
        {"fixes": [3]}, {"before": None, "after": [None]}, {"fixes": {"role-null": 1}, "after": {}},
    ],
)  # fmt: skip
def test_pair_of_wrong_types_is_no_example(odd: Record) -> None:
    found = gathered(pair(**odd), flow())
    assert found.examples.of("role-null") == []
    assert "role-null" in page(found)


# -- adding up, in bounded memory ------------------------------------------------------


def traffic(number: int) -> Iterator[Record]:
    draw = random.Random(number)
    for at in range(number):
        name = f"{draw.random()}"
        yield pair(name * 20, flow=name, fixes=["role-null", name])
        if at % 3:
            more = {
                "fixes": {name: 1, "role-null": 1},
                "end": draw.choice(["x", "error"]),
            }
            at_time = stamp(draw.randrange(10**8))
            yield flow(
                flow=name, host=name, model=name, time=at_time, first_ms=at, **more
            )


def test_memory_does_not_grow_with_the_log() -> None:
    peaks = []
    for number in (3_000, 6_000):  # the first already has as much as is remembered
        tracemalloc.start()
        collecting.collected(traffic(number))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.08 * peaks[0]
    assert peaks[1] < 60_000_000


# -- text and figures ------------------------------------------------------------------


def test_page_says_what_its_figures_lack() -> None:
    notes = reader.Notes()
    notes.lost, notes.torn, notes.unreadable = 3, 1, 2
    found = gathered(flow(), flow(time=""), {"type": "telegram"})
    shown = " ".join(HtmlPage(page(found, notes)).text.split())
    for words in (
        "3 lines could not be written to the log",
        "1 answer without a time that can be are missing",
        "3 lost lines, 1 torn ends, 2 unreadable lines, 1 records of a kind",
    ):
        assert words in shown


def failures() -> collecting.Collected:
    more: Any = {"events": 1, "changed": 1, "fixes": {"error-unwrapped": 1}}
    return gathered(
        flow(),
        flow(status=429, **more),
        flow(status=429, **more),
        flow(status=401, **{**more, "fixes": {}, "changed": 0}),
        flow(host="down.example", status=502, end="error", fixes={}, events=0),
    )


def test_errors_by_status_stand_apart_from_answers_everywhere() -> None:
    found, notes = failures(), reader.Notes()
    group = found.groups["api.acme.example", "acme-1", "repair"]
    assert (group.flows, group.repaired, group.events, group.changed) == (1, 1, 5, 2)
    assert group.errors == {"429": 2, "401": 1}
    assert group.fixed == {"role-null": 1, "error-unwrapped": 2}
    reported = json.loads(as_json(found, notes))
    assert (reported["answers"], reported["whole"]["flows"]) == (1, 1)
    assert reported["errors"] == {"429": 2, "401": 1, "502": 1}
    assert [each["errors"] for each in reported["groups"]] == [
        {"429": 2, "401": 1},
        {"502": 1},
    ]
    (bucket,) = reported["over_time"]["buckets"]
    assert bucket["ends"] == {"complete": 1, "status": 3, "error": 1}
    assert (bucket["events"], bucket["changed"]) == (5, 2)
    printed = " ".join(" ".join(as_text(found, notes)).split())
    assert (
        "1 answer in 0 files; errors by status: 429 (2), 401 (1), 502 (1);" in printed
    )
    assert "1 100 % 429 (2), 401 (1)" in printed
    assert "0 - 502 (1)" in printed
    assert "1 answer ended early: error 1" in printed
    assert "<dt>Errors by status</dt><dd>4<small>429 (2), 401" in page(found)
    shown = " ".join(HtmlPage(page(found)).text.split())
    for words in (
        "2 of 5 429 (2), 401 (1)",
        "error by status",
    ):
        assert words in shown


# -- charts ----------------------------------------------------------------------------

NASTY = (
    "</svg><script>alert(1)</script><img src=x onerror=alert(2)>\"'&{{7*7}}"
    "\u202e\x00\x1b[2J\ud800\u3164"
)


@pytest.mark.parametrize("count", [1, 3, 16, 48])
def test_chart_stays_inside_its_bounds(count: int) -> None:
    labels = [f"{at} {'long' * 8}" for at in range(count)]
    series = [(f"s{at}", [1.0 + at * each for each in range(count)]) for at in range(5)]
    drawn = ET.fromstring(charts.stacked("c", labels, series, "{:g} ms".format))
    wide, high = map(float, drawn.attrib["viewBox"].split()[2:])
    assert wide == 960
    found = dict.fromkeys(("rect", "text"), 0)
    for each in drawn.iter():
        name = each.tag.rpartition("}")[2]
        if name in found:
            found[name] += 1
            at_x, at_y = float(each.attrib["x"]), float(each.attrib["y"])
            across, down = (float(each.get(side, "0")) for side in ("width", "height"))
            assert 0 <= at_x <= at_x + across <= wide
            assert 0 <= at_y <= at_y + down <= high
    assert found["text"] > 2
    assert found["rect"] >= count


# -- the page --------------------------------------------------------------------------


WRONG: list[Any] = [
    None, True, -1, 3, 1e999, -1e999, float("nan"), 10**400, "x", "\x00\u202e\ud800", [], [[]], {}, {"a": []}, NASTY,
]  # fmt: skip


def hostile() -> Iterator[Record]:
    """Yield records that have anything anywhere."""
    yield flow(
        host=NASTY, model=NASTY, end="client-left", fixes={NASTY: 3, "role-null": 1}
    )
    yield flow(
        host="h" * 10**6, model="\u202e" * 10**6, end="m" * 10**6, flow="i" * 10**6
    )
    for name in (*flow(), "mode"):
        for value in WRONG:
            yield flow(**{name: value})
    for name in pair():
        for value in WRONG:
            yield pair(NASTY, flow="g", **({name: value} if name != "flow" else {}))
    yield pair(before=NASTY, after=[NASTY, ""], fixes=[NASTY], flow="g")
    yield pair(before=f"data: {NASTY}\n\n", after=[f"data: {NASTY}x\n\n"], flow="k")
    yield pair(before=event({NASTY: NASTY}), after=[event({})], fixes=["error-fields"])
    yield flow(flow="g", host=NASTY, model=NASTY, mode="observe")
    yield {"type": NASTY, NASTY: NASTY}
    yield {"type": ["flow"]}
    yield {}
    yield {"type": "request", "host": 3, "fixes": 7}


def test_hostile_content_is_text_in_the_page() -> None:
    notes = reader.Notes()
    notes.files.append(Path(f"/logs/{visible(NASTY)}<b>.jsonl"))
    made = page(gathered(*hostile()), notes)
    seen = HtmlPage(made)
    assert (seen.count["script"], seen.count["img"], seen.count["b"]) == (0, 0, 3)
    names = {name for _, attributes in seen.elements for name in attributes}
    assert not [name for name in names if name.startswith("on")]
    links = seen.values("href", "src")
    assert {link[:1] for link in links} == {"#", "d"}
    assert [link for link in links if link.startswith("d")] == ["data:,"]
    assert r"<script>alert(1)</script><img src=x onerror=alert(2)>" in seen.text
    assert r"{{7*7}}\u202e\x00\x1b[2J\ud800\u3164" in seen.text
    assert not [each for each in made if not (each.isprintable() or each == "\n")]
    assert len(made) < 400_000
    made.encode()


def test_page_allows_no_script_and_no_network() -> None:
    seen = HtmlPage(page(gathered(pair(), flow())))
    policy, *_ = seen.values("content")
    assert policy.startswith(
        "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    )
    made = page(gathered(pair(), flow()))
    assert not re.search(
        r"url\(|@import|javascript:|<link(?! rel=\"icon\" href=\"data:,\")", made
    )
    addresses = set(re.findall(r"https?://[^\"' <]+", made))
    assert addresses == {"http://www.w3.org/2000/svg"}  # a name, which nobody fetches


def test_hostile_content_commands_no_terminal() -> None:
    found, notes = gathered(*hostile()), reader.Notes()
    shown = list(as_text(found, notes))
    assert all(line.isprintable() for line in shown)
    assert max(map(len, shown)) < 400
    reported = as_json(found, notes)
    assert reported.isascii()
    assert json.loads(reported)["answers"] == found.overall().flows


def test_empty_log_gives_a_page_that_says_so() -> None:
    seen = HtmlPage(page(gathered()))
    assert "The logs hold no answer" in seen.text
    assert "make the report again" in seen.text
    assert not seen.count.keys() & {"svg", "dl", "nav"}
    assert seen.count["section"] == 1
    assert list(as_text(gathered(), reader.Notes())) == ["0 answers in 0 files"]


def test_chunk_that_became_several_is_an_example_of_chunks() -> None:
    def event(delta: str, finish: str) -> str:
        choice = f'{{"index":0,"delta":{delta},"finish_reason":{finish}}}'
        return f'data: {{"choices":[{choice}]}}\n\n'

    text = '{"content":"Hi"}'
    after = [event(text, "null"), event("{}", '"stop"')]
    split = pair(fixes=["finish-with-delta"], before=event(text, '"stop"'), after=after)
    shown = page(gathered(split, flow(fixes={"finish-with-delta": 1})))
    assert "event 1:" not in shown
    (changes,) = re.findall(r"(?s)</header>\s*<ul>(.*?)</ul>", shown)
    assert " ".join(HtmlPage(changes).text.split()) == "chunks: 1 → 2"
    lines = re.findall(r'<span class="(old|new)">([^<]+)</span>', shown)
    assert [kind for kind, _ in lines] == ["old", "new", "new"]


def test_page_tells_each_model_fix_example_and_broken_answer() -> None:
    notes = reader.Notes()
    notes.lost = 4
    made = page(
        gathered(
            pair(), flow(),
            flow(model="other-2", end="upstream-broke", events=17, total_ms=3210.0, mode="observe"),
            flow(fixes={"home-made": 1}),
        ),
        notes,
    )  # fmt: skip
    said = " ".join(HtmlPage(made).text.split())
    fix = next(fix for fix in FIXES if fix.name == "role-null")
    for expected in (
        "acme-1", "other-2", "observed", "api.acme.example",
        fix.changes.replace("`", "").replace(" -> ", " → "), fix.why.replace("`", ""),
        "choices[0].delta.role: null → removed",
        '"delta":{"role":null,"content":"Hi"}…', '"delta":{"content":"Hi"}…',
        "home-made", "This version of llm_normalize has no fix of that name.",
        "2026-11-21 10:00:00 upstream-broke other-2", "17 3.21 s",
        "3 answers, 1 of them only observed",
        "4 lines could not be written", "4 lost lines", "2026-11-21 10:00:00 to 2026-11-21 10:00:00 UTC",
    ):  # fmt: skip
        assert expected in said
    assert made.count("<svg") == 2


def steps_of(fix: type[Any], log: PairsLog) -> bool:
    """Write the examples of *fix* to *log* as an answer each."""
    written = False
    for number, example in enumerate(fix.examples):
        if example.kind != "stream" or not example.changes:
            continue
        answer = AnswerRecord(
            f"{fix.name}-{number}", "api.acme.example", "/v1/chat/completions",
            f"acme-{number}", True, False, time.time(), log.write,
        )  # fmt: skip
        steps: list[Any] = []
        feed(
            [wire(example.before)],
            example.asked,
            FIXES,
            ended=example.ended,
            steps=steps,
        )
        for step in steps:
            answer.add_event(step)
        answer.close(200, "complete", len(steps), 0, 0)
        written = True
    return written


def test_every_fix_of_a_stream_is_reported_with_an_example(tmp_path: Path) -> None:
    log = PairsLog(tmp_path / "p.jsonl", 10**9)
    written = [fix.name for fix in FIXES if steps_of(fix, log)]
    log.close()
    found = collecting.collected(
        reader.read(reader.find([str(tmp_path)]), reader.Notes())
    )
    reported = set(found.overall().fixes)
    assert len(reported) > 60
    assert len(reported & set(written)) > 0.9 * len(written)
    assert [name for name in reported if not found.examples.of(name)] == []
    empty = [
        each
        for name in reported
        for each in found.examples.of(name)
        if not each.changes and not each.lines
    ]
    assert empty == []
    seen = HtmlPage(page(found))
    assert all(name in seen.text for name in reported)


# -- reading ---------------------------------------------------------------------------


def test_line_that_is_too_long_costs_no_memory_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "LONGEST", 1000)
    path = tmp_path / "p.jsonl"
    path.write_bytes(lines(flow()) + b"x" * 5000 + b"\n" + lines(flow()) + b"y" * 2500)
    notes = reader.Notes()
    assert len(list(reader.read([path], notes))) == 2
    assert notes.unreadable == 2
    assert notes.size == path.stat().st_size


# -- writing ---------------------------------------------------------------------------


def test_page_that_fails_half_way_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = tmp_path / "r.html"
    output.write_text("before")

    def half(*_: object) -> Iterable[str]:
        yield "half"
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(report_page, "parts", half)
    with pytest.raises(OSError, match="No space"):
        report_page.write(output, gathered(), reader.Notes())
    assert [path.name for path in tmp_path.iterdir()] == ["r.html"]
    assert output.read_text() == "before"


def test_page_is_its_owners_alone_and_a_link_stays_one(tmp_path: Path) -> None:
    link = tmp_path / "link.html"
    link.symlink_to("r.html")
    size = report_page.write(link, gathered(flow()), reader.Notes())
    assert link.is_symlink()
    made = tmp_path / "r.html"
    assert made.stat().st_size == size
    if os.name != "nt":
        assert stat.S_IMODE(made.stat().st_mode) == 0o600


# -- the command -----------------------------------------------------------------------


type Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def start(capsys: pytest.CaptureFixture[str]) -> Run:
    def started(*given: object) -> tuple[int, str, str]:
        try:
            code = command.main([*map(str, given)])
        except SystemExit as ended:
            code = int(ended.code or 0)
        return (code, *capsys.readouterr())

    return started


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    folder = tmp_path / "logs"
    folder.mkdir()
    records = (pair(), flow(), pair("Bye", flow="g"), flow(flow="g", model="müde-2 😀"))
    (folder / "pairs-8080.jsonl").write_bytes(lines(*records)[:-30])
    rotated = lines(flow(end="upstream-broke"), {"type": "lost", "count": 2})
    (folder / "pairs-8080.jsonl.1.gz").write_bytes(gzip.compress(rotated))
    return folder


def test_command_says_in_short_what_is_most_telling(logs: Path, start: Run) -> None:
    code, out, err = start(logs)
    assert (code, err) == (0, "")
    head, _, _, row, *_ = out.splitlines()
    assert head == (
        "2 answers in 2 files; 2026-11-21 10:00:00 to 2026-11-21 10:00:00; "
        "2 lost lines; 1 torn end"
    )
    assert row.split()[:5] == ["api.acme.example", "acme-1", "role-null", "2", "100"]
    assert "1 answer ended early: upstream-broke 1; the latest:" in out


def test_command_writes_a_page_and_says_where(
    logs: Path, tmp_path: Path, start: Run
) -> None:
    output = tmp_path / "r.html"
    code, out, err = start(logs, "-o", output)
    assert (code, err) == (0, "")
    assert out == f"{output}: {text.size(output.stat().st_size)}\n"
    made = output.read_text(encoding="utf-8")
    assert "<title>What LLM providers got wrong · llm_normalize</title>" in made
    assert "2 lines could not be written to the log" in HtmlPage(made).text


def test_command_prints_one_object_for_programs(
    logs: Path, tmp_path: Path, start: Run
) -> None:
    _, out, err = start(logs, "--json", "-o", tmp_path / "r.html")
    reported = json.loads(out)
    assert start(logs, "--format", "json")[1] == out
    assert err.startswith(f"{tmp_path / 'r.html'}: ")
    assert (reported["answers"], reported["lost"], reported["torn"]) == (2, 2, 1)
    assert reported["since"] == "2026-11-21T10:00:00Z"
    (group,) = reported["groups"]
    assert group == {
        "host": "api.acme.example",
        "model": "acme-1",
        "mode": "repair",
        "flows": 2,
        "events": 10,
        "changed": 4,
        "requests": 0,
        "repaired": 2,
        "ends": {"complete": 1, "upstream-broke": 1},
        "first_ms": {"p50": 10.0, "p90": 10.0, "p99": 10.0},
        "total_ms": {"p50": 20.0, "p90": 20.0, "p99": 20.0},
        "fixes": {"role-null": {"events": 4, "flows": 2}},
    }
    (fix,) = reported["fixes"]
    assert (fix["name"], fix["answers"], fix["events"], fix["models"]) == (
        "role-null",
        2,
        4,
        1,
    )
    assert fix["examples"][0]["changes"] == ["choices[0].delta.role: null → removed"]
    (broken,) = reported["broken_off"]
    assert (broken["time"], broken["end"]) == ("2026-11-21T10:00:00Z", "upstream-broke")
    (bucket,) = reported["over_time"]["buckets"]
    assert bucket["ends"] == {"upstream-broke": 1, "complete": 1}


def test_report_of_a_log_that_is_not_there_fails_with_a_sentence(
    tmp_path: Path, start: Run
) -> None:
    code, out, err = start(tmp_path / "none\x1b.jsonl")
    assert (code, out) == (1, "")
    assert err == (
        f"llm-normalize report: {tmp_path}/none\\x1b.jsonl: there is no before/after log\n"
    )


@pytest.mark.parametrize(
    ("output", "problem"),
    [("", "it is a folder"), ("no/r.html", "there is no folder"), ("fifo", "it is not a regular file")],
)  # fmt: skip
def test_place_where_no_report_can_be_is_refused(
    logs: Path, tmp_path: Path, start: Run, output: str, problem: str
) -> None:
    if output == "fifo":
        os.mkfifo(tmp_path / output)
    code, _, err = start(logs, "-o", tmp_path / output)
    assert code == 2
    assert problem in err


def test_report_never_takes_the_place_of_a_log(logs: Path, start: Run) -> None:
    log = logs / "pairs-8080.jsonl"
    before = log.read_bytes()
    code, _, err = start(logs, "-o", log)
    assert code == 2
    assert err.endswith("it is one of the logs\n")
    assert log.read_bytes() == before


# -- in a browser ----------------------------------------------------------------------


def test_browser_shows_it_without_script_or_network(tmp_path: Path) -> None:
    from web import opened as browser  # noqa: PLC0415 - slow to import

    output = tmp_path / "r.html"
    whole = flow(fixes={fix.name: 1 for fix in FIXES})
    found = gathered(pair(), whole, *hostile())
    report_page.write(output, found, reader.Notes())
    said: list[str] = []
    asked: list[str] = []
    with browser() as chromium:
        schemes: list[Literal["light", "dark"]] = ["light", "dark"]
        for scheme, width in itertools.product(schemes, (1280, 360)):
            opened = chromium.new_page(
                viewport={"width": width, "height": 800}, color_scheme=scheme
            )
            opened.set_default_timeout(5000)
            opened.on("console", lambda message: said.append(message.text))
            opened.on("pageerror", lambda error: said.append(str(error)))
            opened.on("dialog", lambda dialog: said.append(dialog.message))
            opened.on("request", lambda request: asked.append(request.url))
            opened.goto(output.as_uri())
            assert opened.title() == "What LLM providers got wrong · llm_normalize"
            headings = opened.locator("h1, h2")
            assert headings.count() == 7
            assert all(each.is_visible() for each in headings.all())
            # Nothing but what scrolls by itself is wider than the screen.
            assert opened.evaluate("document.documentElement.scrollWidth") <= width
            assert opened.locator("svg").count() == 2
            assert opened.locator("svg").first.bounding_box()
            assert opened.evaluate(OUTSIDE) == []
            assert opened.locator("details.fix[open]").count() == 3
            folded = opened.locator("details.fix:not([open]) > summary").first
            folded.click()
            assert opened.locator("details.fix[open]").count() == 4
            opened.close()
    assert said == []
    assert set(asked) <= {output.as_uri(), "data:,"}


# -- translated answers ----------------------------------------------------------------


def test_translated_answers_are_counted_by_protocol() -> None:
    shared = {
        "translated": True,
        "fixes": {"translated": 5, "role-null": 2},
        "changed": 5,
    }
    found = gathered(
        flow(),
        pair(fixes=["role-null", "translated"], after=["event: x\ndata: {}\n\n"]),
        flow(protocol="responses", **shared),
        flow(protocol="messages", **shared),
        flow(protocol="messages", model="other", **shared),
        flow(protocol="of another day", **shared),
    )
    first = next(as_text(found, reader.Notes()))
    counted = "translated: messages 2, another protocol 1, responses 1"
    assert first.endswith(counted)
    assert f"Translated from chat completions{counted[10:]}." in page(found)
    whole = json.loads(as_json(found, reader.Notes()))["whole"]
    assert (whole["changed"], whole["fixes"]) == (
        10,
        {"role-null": {"events": 10, "flows": 5}},
    )
    assert found.examples.of("role-null") == []
    assert whole["protocols"] == {
        "messages": 2,
        "responses": 1,
        "another protocol": 1,
    }
    assert "translated" not in next(as_text(gathered(flow()), reader.Notes()))
