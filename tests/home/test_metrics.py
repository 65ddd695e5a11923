"""The figures for Prometheus: what a scrape gets, read as its text format says."""

import re
from dataclasses import replace
from typing import Any

import pytest

from home.asking import asked
from home.test_status import FACTS
from llm_normalize.home import metrics
from llm_normalize.records.statistics import Stats
from proxies import Proxy, headers_of, response_of

NAME = "[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = rf'({NAME})="((?:[^"\\\n]|\\\\|\\"|\\n)*)"'
SAMPLE = re.compile(rf"({NAME})(?:\{{((?:{LABEL},?)*)\}})? (\S+)")
UNESCAPED = {r"\\": "\\", r"\"": '"', r"\n": "\n"}

type Samples = dict[tuple[str, ...], float]


def read(text: str) -> Samples:
    """Return all samples, each by its name and labels; fail for what is not the format."""
    assert text.endswith("\n")
    found: Samples = {}
    kinds: dict[str, str] = {}
    helped = set[str]()
    for line in text.splitlines():
        if line.startswith("# HELP "):
            name, about = line.split(" ", 3)[2:]
            assert about
            assert name not in helped  # each once
            helped.add(name)
        elif line.startswith("# TYPE "):
            name, kind = line.split(" ", 3)[2:]
            assert name in helped
            assert (kind == "counter") is name.endswith("_total")
            kinds[name] = kind
        else:
            sample = SAMPLE.fullmatch(line)
            assert sample, line
            assert sample[1] in kinds
            assert [*kinds][-1] == sample[1]  # those of a metric stand together
            labels = [
                (key, re.sub(r"\\.", lambda each: UNESCAPED[each[0]], value))
                for key, value in re.findall(LABEL, sample[2] or "")
            ]
            key = (sample[1], *(part for label in labels for part in label))
            assert key not in found
            found[key] = float(sample[5])
    assert helped == set(kinds)
    return found


def counted(stats: Stats) -> Samples:
    return read(metrics.text(FACTS, stats.by_pair(), {}, 0))


def scrape(proxy: Proxy, **more: Any) -> Samples:
    made = asked("/metrics", **more)
    proxy.addon.requestheaders(made)
    assert headers_of(made)["content-type"].startswith("text/plain; version=0.0.4;")
    return read(response_of(made).text or "")


def test_scrape_has_what_was_counted(proxy: Proxy) -> None:
    add = proxy.addon.stats.add
    add("api.test", "m", {"role-null": 2}, ["store-refused"], (12, 3), "responses", 200)
    add("api.test", "m", {}, (), (1, None), None, 200)
    add("api.test", "m", {"error-fields": 1}, status=429)
    found = scrape(proxy)
    pair = ("host", "api.test", "model", "m")
    prefix = "llm_normalize_"
    for name, labels, value in (
        ("responses_total", (), 2),
        ("responses_repaired_total", (), 1),
        ("errors_total", ("status", "429"), 1),
        ("fixed_events_total", ("fix", "role-null"), 2),
        ("fixed_events_total", ("fix", "error-fields"), 1),
        ("changed_requests_total", ("change", "store-refused"), 1),
        ("translated_responses_total", ("protocol", "responses"), 1),
        ("tokens_total", ("kind", "prompt"), 13),
        ("tokens_total", ("kind", "completion"), 3),
    ):
        assert found.pop((prefix + name, *pair, *labels)) == value
    assert {name for name, *_ in found} == {
        "llm_normalize_info",
        "llm_normalize_start_time_seconds",
    }
    again = scrape(proxy)
    start = ("llm_normalize_start_time_seconds",)
    assert again[start] == found[start] > 1_600_000_000


def test_what_waits_and_who_refuses_the_ca_is_told() -> None:
    found = read(metrics.text(FACTS, (), {"api.test": 2}, 1))
    host = ("host", "api.test")
    assert found["llm_normalize_waiting_requests", *host] == 2
    assert found["llm_normalize_waiting_longest_seconds", *host] == 3.5
    assert found["llm_normalize_client_tls_refusals_total", *host] == 2
    info = ("llm_normalize_info", "version", "1.2.3", "mode")
    assert found[*info, "repair"] == 1
    observed = read(metrics.text(replace(FACTS, mode="observe"), (), {}, 1))
    assert observed[*info, "observe"] == 1


def test_hostile_names_are_labels_and_no_more_lines() -> None:
    stats = Stats()
    hostile = 'a"} 1\nb{c="\\'
    stats.add(hostile, hostile, {}, status=200)
    pair = ("host", r'a"} 1\nb{c="' + "\\", "model", r'a"} 1\nb{c="' + "\\")
    assert counted(stats)["llm_normalize_responses_total", *pair] == 1


@pytest.mark.parametrize(
    "more",
    [
        {"there": ("192.0.2.9", 50000)},
        {"headers": {"x-forwarded-for": "192.0.2.9"}},
    ],
)
def test_only_this_machine_gets_the_figures(proxy: Proxy, more: Any) -> None:
    made = asked("/metrics", **more)
    proxy.addon.requestheaders(made)
    assert response_of(made).status_code == 404
    assert "llm_normalize_" not in (response_of(made).text or "")
