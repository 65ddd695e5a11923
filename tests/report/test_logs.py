"""Before/after logs: which files are found, what is read, and how it is added up."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import logged
from llm_normalize.report import log_reader as reader
from llm_normalize.report.as_json import as_json
from llm_normalize.report.as_text import as_text
from llm_normalize.report.collected import Collected, collected
from llm_normalize.report.group import Group
from logged import lines


def flow(**more: Any) -> logged.Record:
    fixes = {"content-null": 2}
    return logged.flow(**{"host": "api.x", "model": "m", "fixes": fixes, **more})


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


# -- reading them ----------------------------------------------------------------------


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_log_is_read_plain_or_gzipped_whatever_its_name(
    tmp_path: Path, pack: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / "p.jsonl"
    path.write_bytes(pack(lines(logged.pair(), flow(), flow())))
    summary, notes = summed(path)
    assert only(summary).flows == 2
    assert (notes.torn, notes.unreadable, notes.lost) == (0, 0, 0)


def test_torn_last_line_is_counted_and_costs_no_other(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    path.write_bytes(lines(flow()) + lines(flow())[:-20])
    summary, notes = summed(path)
    assert only(summary).flows == 1
    assert (notes.torn, notes.unreadable) == (1, 0)


@pytest.mark.parametrize(
    "line", [b"{half\n", b"[]\n", b"null\n", b"\xff\n", b"[" * 9999 + b"\n"]
)
def test_unreadable_line_costs_no_other(tmp_path: Path, line: bytes) -> None:
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


# -- what is printed -------------------------------------------------------------------


def test_tokens_are_summed_in_every_form(tmp_path: Path) -> None:
    counted = {"prompt_tokens": 1500, "completion_tokens": 20}
    (tmp_path / "a.jsonl").write_bytes(lines(flow(**counted), flow(**counted)))
    summary, notes = summed(tmp_path)
    (group,) = json.loads(as_json(summary, notes))["groups"]
    assert (group["prompt_tokens"], group["completion_tokens"]) == (3000, 40)
    text = list(as_text(*summed(tmp_path)))
    assert "3,000" in text[3]
    assert "40" in text[3].split()


def test_refusals_whose_words_are_not_known_are_shown(tmp_path: Path) -> None:
    kind = {"type": "refusal", "v": 1, "host": "api.x", "model": "m", "status": 400}
    refusals = [{**kind, "words": f"Refusal \x1b {n % 60}"} for n in range(100)]
    (tmp_path / "a.jsonl").write_bytes(lines(*refusals, flow()))
    found, notes = summed(tmp_path)
    said = json.loads(as_json(found, notes))["unknown_refusals"]
    assert len(said) == 50
    assert {**kind, "words": "Refusal \x1b 0", "count": 2}.items() >= said[0].items()
    *_, first = (line for line in as_text(found, notes) if "Refusal" in line)
    assert first.startswith("  api.x m  400, 2 times: Refusal ")
    assert first.isprintable()
