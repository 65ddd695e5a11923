import pytest

from llm_normalize.records import statistics as module
from llm_normalize.records.statistics import OTHER_HOSTS, OTHER_MODELS, Stats

HEAD = ["host", "model", "responses", "repaired", "fix", "events"]


def test_fixes_are_summed_by_host_and_model_the_most_frequent_first() -> None:
    stats = Stats()
    stats.add("a.test", "m", {"content-null": 2, "bom-sent": 1})
    stats.add("a.test", "m", {"done-missing": 1, "content-null": 3})
    stats.add("a.test", "m", {})
    assert list(stats.rows()) == [
        HEAD,
        ["a.test", "m", "3", "2", "content-null", "5"],
        ["a.test", "m", "3", "2", "bom-sent", "1"],
        ["a.test", "m", "3", "2", "done-missing", "1"],
    ]


def test_errors_by_status_are_no_answers() -> None:
    stats = Stats()
    for status in (200, 429, 404, 429, None):
        fixes = {"error-unwrapped": 1} if status == 429 else {}
        stats.add("a.test", "m", fixes, status=status)
    stats.add("b.test", "m", {"error-status": 1}, status=502)
    assert list(stats.rows())[1:] == [
        ["a.test", "m", "2", "0", "error: 429", "2"],
        ["a.test", "m", "2", "0", "error: 404", "1"],
        ["a.test", "m", "2", "0", "error-unwrapped", "2"],
        ["b.test", "m", "0", "0", "error: 502", "1"],
        ["b.test", "m", "0", "0", "error-status", "1"],
    ]


def test_changes_of_requests_are_counted_apart() -> None:
    stats = Stats()
    stats.add("a.test", "m", {}, ["tools-empty", "store-refused"])
    stats.add("a.test", "m", {"content-null": 1}, iter(["store-refused"]))
    assert list(stats.rows())[1:] == [
        ["a.test", "m", "2", "1", "content-null", "1"],
        ["a.test", "m", "2", "1", "request: store-refused", "2"],
        ["a.test", "m", "2", "1", "request: tools-empty", "1"],
    ]


def test_hosts_and_models_are_distinguished_and_sorted() -> None:
    stats = Stats()
    stats.add("b.test", "m", {"content-null": 1})
    stats.add("a.test", "n", {"content-null": 2})
    stats.add("a.test", "m", {})
    assert list(stats.rows()) == [
        HEAD,
        ["a.test", "m", "1", "0", "", ""],
        ["a.test", "n", "1", "1", "content-null", "2"],
        ["b.test", "m", "1", "1", "content-null", "1"],
    ]


def test_pairs_beyond_the_bound_are_counted_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "PAIRS", 2)
    stats = Stats()
    for host, model in ("am", "an", "ao", "ap", "bm", "cm", "dm", "am", "bm"):
        stats.add(host, model, {"content-null": 1})
    assert list(stats.rows())[1:] == [
        ["a", "m", "2", "2", "content-null", "2"],
        ["a", "n", "1", "1", "content-null", "1"],
        ["a", OTHER_MODELS, "2", "2", "content-null", "2"],
        ["b", OTHER_MODELS, "2", "2", "content-null", "2"],
        [OTHER_HOSTS, OTHER_MODELS, "2", "2", "content-null", "2"],
    ]


def test_names_are_cut_and_escaped() -> None:
    stats = Stats()
    stats.add("a\n", "m" * 1000, {})
    _, (host, model, *_) = stats.rows()
    assert (host, len(model)) == (r"a\n", 200)
