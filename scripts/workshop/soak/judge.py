"""The verdict on one stream of a soak: what arrived, compared with the plan."""

import re
from dataclasses import dataclass, field

from judge.quirks import UNREAD, WAITING
from judge.strict import chunks, taken
from llm_normalize import conformance
from workshop.soak.answers import envelope
from workshop.soak.check import (
    Sent,
    broken_stream,
    events_of,
    started_stream,
    strays,
    whole_body,
    whole_stream,
)
from workshop.soak.faults import RESETS
from workshop.soak.plan import Plan

_NAMELESS = re.compile(r"opens call \d+ with(out name| arguments)")
_BAD_GATEWAY = 502
PARTS = {"length too small", "gzip cut off"}
"""Faults after which a part of the answer comes to an end of its own."""
RENAMING = {"azure-first", "chunk-id", "created", "model", "native-call", "native-text"}
"""Quirks that leave chunks without the name that the provider gave them."""


@dataclass
class Seen:
    """What a client saw of an answer.

    Attributes:
        status: Its status; 0 without an answer.
        headers: Its headers.
        body: What arrived of its body.
        clean: Whether it is complete, by its framing.
        tells: Whether that framing tells an end from a break.
        left: Whether the client left before.
        error: What was wrong with the bytes themselves.
        asked: When it was asked for.
        ended: When it was over.
    """

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    clean: bool = False
    tells: bool = True
    left: bool = False
    error: str = ""
    asked: float = 0.0
    ended: float = 0.0


def judge(plan: Plan, seen: Seen, *, reloaded: bool = False) -> list[str]:
    """List what is wrong with what arrived; nothing if all is as it should be.

    Args:
        plan: What was due.
        seen: What arrived.
        reloaded: Whether the addon was reloaded meanwhile: a body may pass unchanged.
    """
    if seen.error:
        return [seen.error]
    found = strays(seen.body, plan.n)
    if found:
        return found
    may_pass = reloaded and (_is_buffered(plan) or is_collected(plan))
    return [] if may_pass and not _passed(plan, seen) else _repaired(plan, seen)


def _bases(plan: Plan) -> set[str]:
    return {name.partition("/")[0] for name in plan.quirks}


def _is_buffered(plan: Plan) -> bool:
    return plan.kind in ("body", "stream for body", "error")


def is_collected(plan: Plan) -> bool:
    """Tell whether what is to be a stream is called none, and its length is known."""
    is_none = not plan.headers["content-type"].startswith("text/event-stream")
    return is_none and "content-length" in plan.headers


def _repaired(plan: Plan, seen: Seen) -> list[str]:
    if plan.kind == "other":
        return _passed(plan, seen)
    if seen.left:
        return _left(plan, seen)
    never = plan.transfer.fault == "reset before the head"
    waits = _is_buffered(plan) or is_collected(plan)
    never = never or (plan.transfer.breaks and waits)
    # A reset may overtake what was sent before it, the head too.
    may_not = never or plan.transfer.fault in RESETS
    if never or (may_not and seen.status == _BAD_GATEWAY):
        return [] if seen.status == _BAD_GATEWAY else [f"the status is {seen.status}"]
    if plan.kind == "error":
        found = conformance.check_error_body(seen.body) or conformance.lost(
            plan.meaning, conformance.meaning_of_body(seen.body)
        )
        return [*_status(plan, seen), *_clean(seen), *found]
    if _is_buffered(plan):
        if seen.status == _BAD_GATEWAY and "event-broken" in _bases(plan):
            # A part may be lost, and no body is made of the rest.
            found, status = conformance.check_error_body(seen.body), []
        else:
            found = whole_body(seen.body, plan.request, plan.meaning)
            status = [] if plan.meaning.errors else _status(plan, seen)
        return [*status, *_clean(seen), *found]
    kind = seen.headers.get("content-type", "")
    found = [] if kind.startswith("text/event-stream") else [f"it is called {kind!r}"]
    return [*_status(plan, seen), *found, *_stream(plan, seen)]


def _status(plan: Plan, seen: Seen) -> list[str]:
    if seen.status == plan.status:
        return []
    return [f"the status is {seen.status} in place of {plan.status}"]


def _clean(seen: Seen) -> list[str]:
    return [] if seen.clean else ["it broke off"]


def _stream(plan: Plan, seen: Seen) -> list[str]:
    transfer = plan.transfer
    if transfer.breaks and seen.clean and seen.tells and not _is_complete(seen.body):
        return ["it ended cleanly, and the provider's broke off"]
    if not transfer.breaks and not seen.clean and transfer.arrives:
        return ["it broke off"]
    if transfer.fault in ("", "stall") or (
        transfer.fault == "reset after the end" and seen.clean and seen.tells
    ):
        if not plan.quirks and plan.kind == "stream" and seen.body != plan.wire:
            return ["OpenAI's own bytes were changed"]
        found = whole_stream(seen.body, plan.request, plan.meaning)
        return found or _envelope(plan, seen.body)
    bases = _bases(plan)
    # Of some quirks something waits; JSON is given out as soon as it is whole.
    waits = bases & set(WAITING) or plan.kind == "body for stream" or plan.narrow
    arrived = transfer.arrives and transfer.breaks and not waits
    sent = Sent(plan.wire, arrived, "json-lines" in bases, plan.narrow)
    if bases & set(UNREAD):  # what the wire says is no measure
        figures = transfer.fault not in PARTS
        found = started_stream(seen.body, plan.request, plan.meaning, figures=figures)
    else:
        found = broken_stream(seen.body, plan.request, sent)
    if "call-name-late" in bases:  # a name may have been in what was cut off
        found = [each for each in found if not _NAMELESS.search(each)]
    return found or _envelope(plan, seen.body)


def _is_complete(body: bytes) -> bool:
    """Tell whether a stream ends with `[DONE]`, and each choice with a finish reason.

    That the provider sent these is judged beside.
    """
    found = taken(body).choices.values()
    finished = [each.finish_reason for each in found]
    return (
        body.rstrip(b"\n").endswith(b"data: [DONE]")
        and bool(finished)
        and all(finished)
    )


def _envelope(plan: Plan, body: bytes) -> list[str]:
    """List the chunks that are not called what the provider called them."""
    if plan.kind != "stream" or _bases(plan) & RENAMING:
        return []
    due = envelope(plan.n)
    return [
        f"a chunk is called {named}"
        for chunk in chunks(events_of(body))
        if "choices" in chunk and (named := {key: chunk.get(key) for key in due}) != due
    ][:1]


def _left(plan: Plan, seen: Seen) -> list[str]:
    if not seen.status or not seen.body or _is_buffered(plan):
        return []  # nothing arrived, or not all of it
    # Of the figures on every chunk the last are the true ones.
    figures = plan.transfer.fault not in PARTS
    found = started_stream(seen.body, plan.request, plan.meaning, figures=figures)
    return found or _envelope(plan, seen.body)


def _passed(plan: Plan, seen: Seen) -> list[str]:
    """List what is wrong with an answer that passes as it is."""
    sent = plan.transfer.sent
    if not plan.transfer.breaks and not seen.left and plan.transfer.arrives:
        found = [*_status(plan, seen), *_clean(seen)]
        return found if seen.body == sent else [*found, "its bytes were changed"]
    if seen.status in (0, _BAD_GATEWAY) or sent.startswith(seen.body):
        return []
    return ["its bytes were changed"]
