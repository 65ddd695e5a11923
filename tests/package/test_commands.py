import math
from pathlib import Path
from typing import Any

import pytest
from mitmproxy import exceptions, http
from mitmproxy.test import tflow
from mitmproxy.types import Choice

from llm_normalize.options import EVERY
from llm_normalize.records.snapshot import KEY
from proxies import BAD, GOOD, HOST, Proxy, broken, chat_flow, response_of


def repaired(proxy: Proxy, data: bytes = BAD, **more: Any) -> http.HTTPFlow:
    made = chat_flow(**more)
    proxy.stream(made, data)
    return made


def rerun(proxy: Proxy, *flows: Any) -> list[list[str]]:
    heading, *rows = proxy.addon.rerun_command(flows)
    assert list(heading) == ["flow", "host", "model", "result"]
    return [list(map(str, row)) for row in rows]


def test_rerun_of_what_was_repaired_today_is_the_same(proxy: Proxy) -> None:
    made = repaired(proxy)
    assert rerun(proxy, made) == [[made.id[:8], HOST, "m", "the same"]]
    right = repaired(proxy, GOOD)
    assert rerun(proxy, right)[0][-1] == "the same"


def test_rerun_tells_what_would_be_otherwise_today(proxy: Proxy) -> None:
    made = repaired(proxy)
    proxy.set(normalize_skip=["data-space-missing"])
    assert [row[-1] for row in rerun(proxy, made)] == [
        "data-space-missing: 4 then, 0 now",
        r"event 0: framing: data: …\n\n → data:…\n\n",
        r"event 1: framing: data: …\n\n → data:…\n\n",
        r"event 2: framing: data: …\n\n → data:…\n\n",
        "and 1 events more",
    ]
    proxy.set(normalize_skip=["other.test:data-space-missing"])
    assert rerun(proxy, made)[0][-1] == "the same"


def test_rerun_of_what_was_never_repaired_says_so(proxy: Proxy) -> None:
    made = chat_flow()
    response_of(made).content = BAD
    results = [row[-1] for row in rerun(proxy, made)]
    assert results[:2] == ["not repaired then", "data-space-missing: 0 then, 4 now"]


def test_rerun_of_what_was_observed_compares_counts_alone(proxy: Proxy) -> None:
    proxy.set(normalize_mode="observe")
    assert rerun(proxy, repaired(proxy))[0][-1] == "the same"


def test_rerun_of_what_broke_off_compares_its_beginning(proxy: Proxy) -> None:
    made = chat_flow()
    proxy.addon.responseheaders(made)
    proxy.feed(made, BAD[:200])
    broken(made, "connection closed")
    proxy.addon.error(made)
    results = [row[-1] for row in rerun(proxy, made)]
    assert results == ["the same, as far as it is stored"]


def test_rerun_says_what_it_cannot_look_at(proxy: Proxy) -> None:
    other = chat_flow(path="/v1/models")
    rows = rerun(proxy, other, tflow.ttcpflow())
    assert [row[-1] for row in rows] == [
        "it asks for no chat completion",
        "not an HTTP flow",
    ]


def test_capture_writes_folders_and_tells_where(proxy: Proxy, tmp_path: Path) -> None:
    flows = [repaired(proxy), repaired(proxy, GOOD), chat_flow(path="/v1/models")]
    heading, first, second, third = proxy.addon.capture_command(
        flows, str(tmp_path / "c")
    )
    assert list(heading) == ["folder", "fixes", "note"]
    assert list(first)[1:] == ["data-space-missing 4", "the model's words are in it"]
    assert list(second)[1] == "none"
    assert list(third)[1:] == ["", "left out: it asks for no chat completion"]
    assert (Path(str(first[0])) / "response.sse").read_bytes() == BAD
    assert "date = 20" in (Path(str(first[0])) / "about.toml").read_text()


def test_one_strange_flow_does_not_keep_others_from_being_told(
    proxy: Proxy, tmp_path: Path
) -> None:
    strange = repaired(proxy)
    strange.request.timestamp_start = math.inf
    response_of(strange).timestamp_start = math.inf
    strange.id = "\x1b[2J" + strange.id
    early = repaired(proxy)
    early.request.timestamp_start = 1e300
    rows = rerun(proxy, strange, repaired(proxy))
    assert rows[1][-1] == "the same"
    assert rows[0][0].isprintable()
    table = proxy.addon.capture_command([strange, early], str(tmp_path / "c"))
    assert len(list(table)) == 3


def test_capture_notes_what_broke_off_and_what_was_altered(
    proxy: Proxy, tmp_path: Path
) -> None:
    made = repaired(proxy)
    made.metadata[KEY]["end"] = "upstream-broke"
    made.request.headers["authorization"] = "Bearer assistant"
    _, row = proxy.addon.capture_command([made], str(tmp_path / "c"))
    assert str(row[2]).split("; ")[1:] == [
        "other fixes apply than did to the original answer",
        "it breaks off",
    ]


def test_capture_into_no_folder_is_a_clear_error(proxy: Proxy, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(exceptions.CommandError, match=r"normalize\.capture: .*file: "):
        proxy.addon.capture_command([repaired(proxy)], str(file))


def test_fixes_tells_all_or_all_about_one(proxy: Proxy) -> None:
    proxy.set(normalize_skip=["role-null", f"{HOST}:role-null"])
    heading, *rows = proxy.addon.fixes_command()
    assert list(heading) == ["fix", "skipped", "change"]
    assert [row[0] for row in rows] == [each.name for each in EVERY]
    one = [list(row) for row in proxy.addon.fixes_command("role-null")]
    assert [row[0] for row in one[:5]] == [
        "fix", "change", "whom it breaks", "seen at", "skipped",
    ]  # fmt: skip
    assert one[4][1] == f"everywhere, on {HOST}"
    assert {row[0] for row in one[5:]} == {"source"}
    assert list(proxy.addon.fixes_command("bom-sent")[4]) == ["skipped", "nowhere"]


def test_names_of_fixes_are_completed_and_checked(proxy: Proxy) -> None:
    commands = proxy.context.master.commands
    commands.collect_commands(proxy.addon)
    parameter = commands.commands["normalize.fixes"].parameters[0]
    assert isinstance(parameter.type, Choice)
    assert "role-null" in commands.execute("normalize.fixes.names")
    assert list(commands.execute("normalize.fixes role-null")[0]) == [
        "fix",
        "role-null",
    ]
    with pytest.raises(exceptions.CommandError):
        commands.execute("normalize.fixes no-fix")
