"""Before/after logs: which files are found, what is read, and how it is added up."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from llm_normalize.exchange.record.answer_record import AnswerRecord
from llm_normalize.records.pairs_log import PairsLog
from llm_normalize.report import log_reader as reader
from llm_normalize.report.as_json import as_json
from llm_normalize.report.as_text import as_text
from llm_normalize.report.collected import Collected, collected
from llm_normalize.report.group import Group


def flow(**more: Any) -> dict[str, Any]:
    return {
        "type": "flow",
        "v": 1,
        "flow": "f",
        "time": "2026-11-21T10:00:00.000Z",
        "host": "api.x",
        "path": "/v1/chat/completions",
        "status": 200,
        "model": "m",
        "stream": True,
        "events": 5,
        "changed": 2,
        "fixes": {"content-null": 2},
        "bytes_in": 10,
        "bytes_out": 9,
        "first_ms": 10.0,
        "total_ms": 20.0,
        "end": "complete",
        **more,
    }


PAIR = {
    "type": "pair",
    "v": 1,
    "flow": "f",
    "n": 0,
    "fixes": ["a"],
    "before": "",
    "after": [],
}


def lines(*records: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(each).encode() + b"\n" for each in records)


def summed(*logs: Path | str) -> tuple[Collected, reader.Notes]:
    notes = reader.Notes()
    return collected(reader.read(reader.find(map(str, logs)), notes)), notes


def only(summary: Collected) -> Group:
    (group,) = summary.groups.values()
    return group


# -- finding the files -----------------------------------------------------------------


def test_log_brings_its_rotated_files_the_oldest_first(tmp_path: Path) -> None:
    names = ["p.jsonl.4", "p.jsonl.3.gz", "p.jsonl.2", "p.jsonl.1", "p.jsonl"]
    for name in [*names, "p.jsonl.5", "p-2.jsonl", ".p.jsonl.lock"]:
        (tmp_path / name).touch()
    found = reader.find([str(tmp_path / "p.jsonl")])
    assert [path.name for path in found] == names


def test_folder_is_searched_to_its_depths_and_each_file_counts_once(
    tmp_path: Path,
) -> None:
    for name in (
        "8081/normalize/pairs-8081.jsonl",
        "8082/normalize/pairs-8082.jsonl.1",
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True)
        path.touch()
        path.with_name(f".{path.name}.lock").touch()
        path.with_name("notes.txt").touch()
    given = [str(tmp_path), str(tmp_path / "8081"), f"{tmp_path}/*/normalize/*.jsonl*"]
    found = reader.find(given)
    assert [path.name for path in found] == ["pairs-8081.jsonl", "pairs-8082.jsonl.1"]


def test_log_of_which_only_rotated_files_are_left_is_found(tmp_path: Path) -> None:
    (tmp_path / "p.jsonl.1").touch()
    found = reader.find([str(tmp_path / "p.jsonl")])
    assert [path.name for path in found] == ["p.jsonl.1"]


def test_file_of_another_name_is_read_alone(tmp_path: Path) -> None:
    for name in ("log", "log.1"):
        (tmp_path / name).touch()
    assert [path.name for path in reader.find([str(tmp_path / "log")])] == ["log"]


@pytest.mark.parametrize("name", ["nothing", "*.jsonl", ""])
def test_name_of_nothing_is_an_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(reader.LogError, match="there is no before/after log"):
        reader.find([str(tmp_path / name)])


# -- reading them ----------------------------------------------------------------------


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_log_is_read_plain_or_gzipped_whatever_its_name(
    tmp_path: Path, pack: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / "p.jsonl"
    path.write_bytes(pack(lines(PAIR, flow(), flow())))
    summary, notes = summed(path)
    assert only(summary).flows == 2
    assert (notes.torn, notes.unreadable, notes.lost) == (0, 0, 0)


def test_torn_last_line_is_counted_and_costs_no_other(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    path.write_bytes(lines(flow()) + lines(flow())[:-20])
    summary, notes = summed(path)
    assert only(summary).flows == 1
    assert (notes.torn, notes.unreadable) == (1, 0)


def test_last_line_without_its_end_counts_if_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    path.write_bytes(lines(flow()).rstrip(b"\n"))
    summary, notes = summed(path)
    assert only(summary).flows == 1
    assert notes.torn == 0


@pytest.mark.parametrize(
    "line", [b"{half\n", b"[]\n", b"null\n", b"\xff\n", b"[" * 9999 + b"\n"]
)
def test_unreadable_line_is_counted_and_costs_no_other(
    tmp_path: Path, line: bytes
) -> None:
    path = tmp_path / "p.jsonl"
    path.write_bytes(lines(flow()) + line + b"\n" + lines(flow()))
    summary, notes = summed(path)
    assert only(summary).flows == 2
    assert (notes.torn, notes.unreadable) == (0, 1)


def test_gzipped_log_that_was_cut_off_gives_what_it_has(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl.1.gz"
    many = lines(*(flow(flow=str(at)) for at in range(5000)))
    path.write_bytes(gzip.compress(many)[:-2000])
    summary, notes = summed(path)
    assert 0 < only(summary).flows < 5000
    assert notes.torn == 1


def test_lost_lines_are_added_up(tmp_path: Path) -> None:
    for name in ("a.jsonl", "b.jsonl"):
        lost = {"type": "lost", "count": 3}
        (tmp_path / name).write_bytes(lines(flow(), lost))
    _, notes = summed(tmp_path)
    assert notes.lost == 6


def test_line_ends_that_only_text_knows_part_no_line(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    record = json.dumps(flow(model="a\u2028b\x85c"), ensure_ascii=False)
    path.write_bytes(record.encode() + b"\n")
    summary, notes = summed(path)
    assert only(summary).flows == 1
    assert notes.unreadable == 0


def test_log_that_may_not_be_read_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "p.jsonl"
    path.touch()

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(reader.LogError, match="Permission denied"):
        summed(path)


def test_what_the_addon_writes_is_what_is_read(tmp_path: Path) -> None:
    log = PairsLog(tmp_path / "p.jsonl", 10**6)
    answer = AnswerRecord(
        "f", "api.x", "/v1/chat/completions", "m", True, True, 1.0, log.write
    )
    answer.close(200, "client-left", 7, 10, 20)
    log.close()
    summary, _ = summed(tmp_path)
    assert list(summary.groups) == [("api.x", "m", "observe")]
    assert only(summary).events == 7
    assert only(summary).ends == {"client-left": 1}


# -- adding them up --------------------------------------------------------------------


def test_answers_of_many_logs_are_added_up_by_host_model_and_mode(
    tmp_path: Path,
) -> None:
    (tmp_path / "a.jsonl").write_bytes(lines(flow(), flow(model="n")))
    more = flow(end="upstream-broke", fixes={"content-null": 1, "id-missing": 5})
    (tmp_path / "b.jsonl").write_bytes(lines(more, flow(mode="observe")))
    summary, _ = summed(tmp_path)
    assert sorted(summary.groups) == [
        ("api.x", "m", "observe"), ("api.x", "m", "repair"), ("api.x", "n", "repair"),
    ]  # fmt: skip
    group = summary.groups["api.x", "m", "repair"]
    assert (group.flows, group.events, group.changed) == (2, 10, 4)
    assert group.ends == {"complete": 1, "upstream-broke": 1}
    assert group.fixes == {"id-missing": 5, "content-null": 3}
    assert group.fixed == {"content-null": 2, "id-missing": 1}


def test_changed_requests_are_counted_beside_the_answers(tmp_path: Path) -> None:
    request = {"type": "request", "host": "api.x", "model": "m", "fixes": ["x"]}
    (tmp_path / "a.jsonl").write_bytes(lines(request, flow()))
    summary, _ = summed(tmp_path)
    assert (only(summary).requests, only(summary).flows) == (1, 1)
    (group,) = json.loads(as_json(summary, reader.Notes()))["groups"]
    assert group["requests"] == 1


def test_values_that_are_not_what_they_should_be_count_as_none(tmp_path: Path) -> None:
    odd = flow(events="many", changed=None, fixes=[1], first_ms="soon", end=3, model={})
    (tmp_path / "a.jsonl").write_bytes(lines(odd, flow(fixes={"a": "b"}, events=-1)))
    summary, _ = summed(tmp_path)
    assert sum(group.flows for group in summary.groups.values()) == 2
    assert sum(group.events for group in summary.groups.values()) == 0


# -- what is printed -------------------------------------------------------------------

NASTY = "\x1b[31m|m\nforged line\u202e\x9b`<b>"


def test_no_name_of_a_model_reaches_the_terminal_as_a_command(tmp_path: Path) -> None:
    odd = flow(model=NASTY, host="\x07h", time="\x1b", fixes={NASTY: 1})
    (tmp_path / "a.jsonl").write_bytes(lines(odd))
    for line in as_text(*summed(tmp_path)):
        assert line.isprintable()


def test_text_lines_up_and_says_what_was_met(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(
        lines(flow(), flow(model="longer", events=123456), {"type": "lost", "count": 1})
    )
    head, _, *table = as_text(*summed(tmp_path))
    assert head.startswith("2 answers in 1 file; 2026-11-21 10:00:00 to ")
    assert head.endswith("; 1 lost line")
    place = table[0].index("model")
    assert [row[place:].split()[0] for row in table[:3]] == ["model", "longer", "m"]
    assert len({len(row) for row in table[:3]}) == 1


def test_json_has_all_of_it(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(lines(flow(), flow(end="error", first_ms=None)))
    summary, notes = summed(tmp_path)
    made = json.loads(as_json(summary, notes))
    assert made["files"] == [str((tmp_path / "a.jsonl").resolve())]
    assert made["groups"] == [
        {
            "host": "api.x",
            "model": "m",
            "mode": "repair",
            "flows": 2,
            "events": 10,
            "changed": 4,
            "requests": 0,
            "repaired": 2,
            "ends": {"complete": 1, "error": 1},
            "first_ms": {"p50": 10.0, "p90": 10.0, "p99": 10.0},
            "total_ms": {"p50": 20.0, "p90": 20.0, "p99": 20.0},
            "fixes": {"content-null": {"events": 4, "flows": 2}},
        }
    ]


def test_tokens_are_summed_in_every_form(tmp_path: Path) -> None:
    counted = {"prompt_tokens": 1500, "completion_tokens": 20}
    (tmp_path / "a.jsonl").write_bytes(lines(flow(**counted), flow(**counted)))
    summary, notes = summed(tmp_path)
    (group,) = json.loads(as_json(summary, notes))["groups"]
    assert (group["prompt_tokens"], group["completion_tokens"]) == (3000, 40)
    text = list(as_text(*summed(tmp_path)))
    assert "3,000" in text[3]
    assert "40" in text[3].split()
