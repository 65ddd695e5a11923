"""What providers sent, by report, and what their clients must get: tests/cases.

A case is a JSON file: `request`, `options`, the provider's `answers` (one here: `status`,
`headers`, and `events` or `body`), and `expect`, what the client gets, or a list of which
one must do. `honest` there says that something is lost, and that no client may take the
answer for a whole one. `source` and `why` tell where it comes from.
"""

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from each_case import each_case
from llm_normalize import conformance
from llm_normalize.chat.state.asked import Asked
from llm_normalize.fixes import EVERY_FIX, FIXES
from llm_normalize.repair.engine.body import repair_body
from llm_normalize.repair.fix import Fix
from streams import feed, tiny_reads
from workshop.judged import taken

FOLDER = Path(__file__).parents[1] / "cases"
READ = {
    path.stem: json.loads(path.read_text(encoding="utf-8"))
    for path in sorted(FOLDER.glob("*.json"))
}
CASES = [pytest.param(case, id=name) for name, case in READ.items()]
FAULTY = [
    pytest.param(case, id=name) for name, case in READ.items() if "guard" not in case
]
ERROR_KEYS = ("message", "type", "param", "code")


def fixes_of(case: dict[str, Any]) -> list[type[Fix]]:
    also = case.get("options", {}).get("normalize_also", ())
    return [fix for fix in EVERY_FIX if fix in FIXES or fix.name in also]


def answers_of(case: dict[str, Any]) -> Iterator[tuple[int, bytes]]:
    """Yield (status, what the client gets), for each way in which the answer may be cut."""
    (answer,) = case["answers"]
    data = "".join(answer.get("events") or [answer["body"]]).encode()
    asked = Asked.from_body(json.dumps(case["request"]).encode())
    fixes, status = fixes_of(case), answer.get("status", 200)
    if not asked.stream or status >= 400:
        made = repair_body(data, status, asked, fixes)
        yield made.status or status, b"".join(made.after)
        return
    events = [each.encode() for each in answer.get("events", [data.decode()])]
    for reads in ([data], events, [*tiny_reads(data)]):
        yield status, b"".join(feed(reads, asked, fixes))


def parsed(arguments: str) -> Any:
    try:
        return json.loads(arguments)
    except ValueError:
        return f"no JSON: {arguments}"


def said(choice: conformance.Choice) -> dict[str, Any]:
    calls = [[call.name, parsed(call.arguments)] for call in choice.calls]
    return {
        "text": choice.text,
        "reasoning": choice.reasoning,
        "calls": calls,
        "finish": choice.finish_reason,
    }


NOTHING: dict[str, Any] = {"text": "", "reasoning": "", "calls": [], "finish": "stop"}


def error_of(out: bytes) -> dict[str, Any] | None:
    """Return the error that a client meets first, of a body or in a stream."""
    for line in out.split(b"\n"):
        try:
            value = json.loads(line.removeprefix(b"data: "))
        except ValueError:
            continue
        if isinstance(value, dict) and value.get("error"):
            found: dict[str, Any] = value["error"]
            return found
    return None


def taken_from_body(out: bytes) -> conformance.Meaning:
    """Return what a client takes from a body: it forgives less than the judge."""
    json.loads(out)
    return conformance.meaning_of_body(out)


def faults(
    case: dict[str, Any], want: dict[str, Any], status: int, out: bytes
) -> list[str]:
    """List what is not as the case wants it."""
    streams = bool(case["request"].get("stream")) and status < 400
    error = error_of(out)
    read = out.partition(b'data: {"error"')[0] if streams else out
    form = (
        conformance.check_stream(
            out,
            conformance.Request.from_body(case["request"], stream=True),
            complete=not (error or want.get("honest")),
        )
        if streams
        else []
    )
    if want.get("honest"):
        return [*form, *honest_faults(want, status, out, read, streams=streams)]
    if "error" in want:
        fields = want.get("error_fields", {})
        if error is None or set(ERROR_KEYS) - error.keys():
            return ["no error of OpenAI's form"]
        if want["error"] not in error["message"]:
            return [f"the error {error}"]
        wrong = {key: error[key] for key, due in fields.items() if error[key] != due}
        return [f"{wrong}"] * bool(wrong) + ["status"] * (
            status != want.get("status", status)
        )
    if error is not None or status != 200:
        return [f"an error {error}"]
    meaning = taken(out) if streams else taken_from_body(out)
    found = [*form]
    for index, due in ((0, want), (1, want.get("second"))):
        choice = meaning.choices.get(index)
        if (due is None) != (choice is None):
            found.append(f"choice {index}")
        elif due is not None and choice is not None:
            expected = {key: due.get(key, none) for key, none in NOTHING.items()}
            found += [f"{said(choice)}"] * (said(choice) != expected)
    if "usage" in want:
        found += usage_faults(want["usage"], meaning.usage or {})
    return found + [each for each in want.get("keeps", ()) if each.encode() not in out]


def usage_faults(want: Any, usage: dict[str, Any]) -> list[str]:
    if isinstance(want, list):
        keys = ("prompt_tokens", "completion_tokens", "total_tokens")
        want = dict(zip(keys, want, strict=True))
    nulls = [key for key, value in leaves(usage) if value is None]
    lacks = [each for each in leaves(want) if each not in [*leaves(usage)]]
    return [f"usage: {nulls} {lacks}"] * bool(nulls or lacks)


def leaves(tree: dict[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in tree.items():
        if isinstance(value, dict):
            yield from leaves(value, f"{path}{key}.")
        else:
            yield path + key, value


def honest_faults(
    want: dict[str, Any], status: int, out: bytes, read: bytes, *, streams: bool
) -> Iterator[str]:
    if not streams:
        if status < 400 or error_of(out) is None:
            yield "a body of a stream that lacks an event"
        return
    if b'"finish_reason":"' in out:
        yield "a finish reason"
    if b"[DONE]" in out and error_of(out) is None:
        yield "[DONE]"
    choice = taken(read).choices.get(0, conformance.Choice())
    for part in ("text", "reasoning"):
        if not said(choice)[part].startswith(want.get(part, "")):
            yield part
    for name, arguments in said(choice)["calls"]:
        if isinstance(arguments, dict) and [name, arguments] not in want.get(
            "calls", []
        ):
            yield f"a call {name} that nobody made"


@each_case(CASES)
def test_case_holds(case: dict[str, Any]) -> None:
    wanted = case["expect"] if isinstance(case["expect"], list) else [case["expect"]]
    for status, out in answers_of(case):
        found = [faults(case, want, status, out) for want in wanted]
        assert [] in found, (case["why"], found, out)


@each_case(FAULTY)
def test_case_fails_without_a_repair(case: dict[str, Any]) -> None:
    (answer,) = case["answers"]
    raw = "".join(answer.get("events") or [answer["body"]]).encode()
    wanted = case["expect"] if isinstance(case["expect"], list) else [case["expect"]]
    for want in wanted:
        # What cannot be read is at fault, too.
        with contextlib.suppress(ValueError, TypeError, KeyError, AttributeError):
            assert faults(case, want, answer.get("status", 200), raw) != []
