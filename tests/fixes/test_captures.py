"""Golden captures of our own: real shapes, our own wording.

A folder holds `response.sse` (or `.json`) as a provider sends it, `expected.*` as the
client must get it, and `about.toml`: where the shape comes from, what was asked, and
which fixes fire. `pytest --update-captures` writes `expected.*`; review the diff.
An answer in its client's own protocol is in PROVIDER/PROTOCOL/NAME: other tests read the
chat of PROVIDER/NAME. LLM_NORMALIZE_CAPTURES names another folder of them, such as a report of a user's.
"""

import json
import os
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from each_case import each_case
from judge import messages_form, responses
from llm_normalize import conformance
from llm_normalize.capture.rerun import repair
from llm_normalize.chat.state.asked import Asked
from llm_normalize.fixes import FIXES
from llm_normalize.protocols import PROTOCOLS
from llm_normalize.repair.engine.body import repair_body
from llm_normalize.repair.outcome import EventRecord
from streams import repaired

CAPTURES = os.environ.get("LLM_NORMALIZE_CAPTURES")
OWN = Path(__file__).parents[1] / "captures"
FOLDERS = sorted(Path(CAPTURES or OWN).glob("**/about.toml"))


def about(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text(encoding="utf-8"))


def asked_of(info: dict[str, Any]) -> Asked:
    return Asked(**info["asked"])


def run(folder: Path, info: dict[str, Any]) -> tuple[bytes, bytes, set[str]]:
    """Return the response, what becomes of it, and the fixes that fired."""
    response = next(folder.glob("response.*")).read_bytes()
    if "protocol" in info:
        return response, *native_run(folder, response, info)
    steps: list[EventRecord] = []
    if (folder / "response.sse").exists():
        ended = info.get("ended", True)
        out = repaired(response, asked_of(info), steps=steps, ended=ended)
    else:
        status = info.get("status", 200)
        steps = [repair_body(response, status, asked_of(info), FIXES)]
        out = steps[0].after[0]
    return response, out, {name for step in steps for name in step.fixes}


def native_run(
    folder: Path, response: bytes, info: dict[str, Any]
) -> tuple[bytes, set[str]]:
    """The same of an answer in its client's own protocol, but for the response."""
    # It imports mitmproxy, which the rest of these tests does without.
    from llm_normalize.exchange.request.native_answer import NativeAnswer  # noqa: PLC0415

    (protocol,) = (each for each in PROTOCOLS if each.name == info["protocol"])
    asked = asked_of(info)
    made = repair(
        response,
        asked,
        FIXES,
        native=NativeAnswer(protocol, None, "", (), asked).stated(asked),
        status=info.get("status", 200),
        is_stream=(folder / "response.sse").exists(),
        is_complete=info.get("ended", True),
    )
    return made.out, set(made.fixes)


def native_form(out: bytes, info: dict[str, Any]) -> list[str]:
    """What is wrong with an answer in its client's own protocol."""
    is_messages = info["protocol"] == "messages"
    if info.get("status", 200) >= 400:
        if is_messages:
            return messages_form.check_error(json.loads(out))
        return [*map(str, conformance.check_error_body(out))]
    if not info["asked"]["stream"]:
        body = json.loads(out)
        if is_messages:
            return without_cache(messages_form.check_body(body))
        return responses.check_response(body)
    lines = [each for each in out.decode().splitlines() if each.startswith("data:")]
    events = [json.loads(each.removeprefix("data:")) for each in lines]
    named = [(each["type"], each) for each in events]
    complete = info.get("ended", True)
    if not is_messages:
        return responses.check_events(named, complete=complete)
    reader = messages_form.Reader().read(named)
    return without_cache((reader.end() if complete else reader).faults)


def without_cache(faults: list[str]) -> list[str]:
    """Leave out figures of a cache: Anthropic's library does not require them."""
    return [each for each in faults if each != "the usage lacks a figure"]


@pytest.mark.parametrize("path", FOLDERS, ids=lambda path: "/".join(path.parts[-3:-1]))
def test_capture_comes_out_as_expected(
    path: Path, request: pytest.FixtureRequest
) -> None:
    info = about(path)
    response, out, fixes = run(path.parent, info)
    expected = next(path.parent.glob("response.*")).with_stem("expected")
    if request.config.getoption("--update-captures"):
        expected.write_bytes(out)
    assert out == expected.read_bytes()
    assert fixes == set(info["fixes"])
    assert (out == response) is (not info["fixes"])


@each_case(FOLDERS, ids=lambda path: "/".join(path.parts[-3:-1]))
def test_capture_has_the_form_of_openai(path: Path) -> None:
    info = about(path)
    response, out, _ = run(path.parent, info)
    if "protocol" in info:
        assert native_form(out, info) == []
        return
    asked = asked_of(info)
    request = conformance.Request(
        stream=asked.stream,
        include_usage=asked.usage,
        tools=asked.tools,
        forced_tool=asked.forced_tool,
        n=asked.n,
    )
    if info.get("status", 200) >= 400:
        assert conformance.check_error_body(out) == []
    elif asked.stream:
        complete = info.get("ended", True)
        assert conformance.check_stream(out, request, complete=complete) == []
    else:
        assert conformance.check_body(out, request) == []
    read = (
        conformance.meaning_of_stream if asked.stream else conformance.meaning_of_body
    )
    before = read(response)
    if not info.get("ended", True):
        # What is half there has no meaning yet, and usage has its place at the end.
        before = replace(before, usage=read(out).usage, unread=[])
    broke = not info.get("ended", True)
    assert conformance.lost(before, read(out), broke=broke) == []


@pytest.mark.skipif(bool(CAPTURES), reason="other captures than our own")
def test_there_is_a_capture_of_each_family() -> None:
    protocols = {path.parts[-3] for path in FOLDERS if "protocol" in about(path)}
    assert protocols == {each.name for each in PROTOCOLS}
    families = {path.parts[-3] for path in FOLDERS}
    assert families >= {"chatglm-cpp", "nvidia-nim", "openai", "openrouter", "sglang"}
