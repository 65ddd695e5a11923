"""What the commands report, as tables: their first row is the heading."""

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path

from mitmproxy import flow, http

from .capture.folder import Capture, write
from .capture.rerun import differences, repair
from .exchange.record.stored_flow import Stored, stored
from .fixes import EVERY_FIX
from .native_fixes import NATIVE_FIXES
from .repair.declaration import Declaration
from .repair.fix import Fix
from .request.adaptation import Adaptation
from .request.adaptations import ADAPTATIONS
from .routing.hosts import HostPattern
from .text.printable import brief

type Repair = type[Declaration | Adaptation]
type Rows = Iterator[list[str]]
type Named = tuple[HostPattern | None, str]
"""A host, or None for all, and the name of a fix or adaptation."""
type SkippedFor = Callable[[http.HTTPFlow], Collection[str]]
"""Returns the names of the fixes that are off for a flow today."""
type FixesFor = Callable[[http.HTTPFlow], Sequence[type[Fix]]]
"""Returns the fixes that count for a flow today."""

EVERY: tuple[Repair, ...] = (*EVERY_FIX, *NATIVE_FIXES, *ADAPTATIONS)
"""All that may be skipped by its name."""


def fix_rows(fixes: Sequence[Repair], skips: Sequence[Named]) -> Rows:
    """Yield all fixes and adaptations, and which of them are skipped."""
    yield ["fix", "skipped", "change"]
    for fix in fixes:
        yield [fix.name, _skipped(fix.name, skips), fix.changes]


def one_fix(
    fix: Repair,
    skips: Sequence[Named],
    adapted: Sequence[Named] = (),
) -> Rows:
    """Yield all there is to know of one fix or adaptation."""
    yield ["fix", fix.name]
    yield ["change", fix.changes]
    if issubclass(fix, Declaration):
        yield ["whom it breaks", fix.why]
        yield ["seen at", ", ".join(fix.providers)]
    else:
        yield ["otherwise", fix.why]
        own = (str(host) for host, name in adapted if name == fix.name)
        yield ["in requests to", ", ".join((*fix.hosts, *own)) or "all hosts"]
    yield ["skipped", _skipped(fix.name, skips) or "nowhere"]
    yield from (["source", source] for source in fix.sources)


def _skipped(name: str, skips: Sequence[Named]) -> str:
    where = (
        "everywhere" if host is None else f"on {host}"
        for host, each in skips
        if each == name
    )
    return ", ".join(where)


def rerun_rows(
    flows: Sequence[flow.Flow],
    fixes_for: FixesFor,
    *,
    strict: bool,
    skipped_for: SkippedFor = lambda _: (),
) -> Rows:
    """Yield what today's fixes make of what was received, and whether that is what was sent."""
    yield ["flow", "host", "model", "result"]
    for each, answer in _each(flows, skipped_for, strict=strict):
        if isinstance(answer, str):
            yield [*_name(each), answer]
            continue
        assert isinstance(each, http.HTTPFlow)
        results = list(_rerun(answer, fixes_for(each)))
        same = "the same" if answer.is_complete else "the same, as far as it is stored"
        yield [*_name(each, answer), results[0] if results else same]
        yield from (["", "", "", result] for result in results[1:])


def _rerun(answer: Stored, fixes: Sequence[type[Fix]]) -> Iterator[str]:
    now = repair(
        answer.received,
        answer.asked,
        fixes,
        native=answer.native,
        status=answer.status,
        is_stream=answer.is_stream,
        is_complete=answer.is_complete,
    )
    if answer.fixes is None:
        yield "not repaired then"
    then = answer.fixes or {}
    if answer.is_complete:
        for name in sorted({*then, *now.fixes}):
            if then.get(name, 0) != now.fixes[name]:
                yield f"{brief(name)}: {then.get(name, 0)} then, {now.fixes[name]} now"
    if answer.is_translated:
        yield "translated: what was sent is not compared"
    elif not answer.is_observed:
        yield from map(
            brief,
            differences(
                answer.sent,
                now.out,
                is_stream=answer.is_stream,
                is_complete=answer.is_complete,
            ),
        )


def capture_rows(
    flows: Sequence[flow.Flow],
    where: Path,
    fixes_for: FixesFor,
    *,
    fill: bool,
    skipped_for: SkippedFor = lambda _: (),
) -> Rows:
    """Write a capture folder of each flow, and yield where they are.

    Raises:
        OSError: One cannot be written.
    """
    yield ["folder", "fixes", "note"]
    for each, answer in _each(flows, skipped_for, strict=False):
        if isinstance(answer, str):
            yield [_name(each)[0], "", f"left out: {answer}"]
            continue
        assert isinstance(each, http.HTTPFlow)
        capture = Capture(
            answer.received,
            answer.asked,
            answer.host,
            _day(each),
            answer.status,
            answer.is_stream,
            answer.is_complete,
            answer.native,
        )
        made = write(where, capture, fixes_for(each), answer.secrets, fill=fill)
        fired = ", ".join(f"{name} {count}" for name, count in made.fixes.items())
        note = [
            "its words are filler" if fill else "the model's words are in it",
            *(
                ["other fixes apply than did to the original answer"]
                if made.was_altered
                else []
            ),
            *([] if answer.is_complete else ["it breaks off"]),
        ]
        yield [str(made.folder), fired or "none", "; ".join(note)]


def _day(each: http.HTTPFlow) -> str:
    begun = each.request.timestamp_start
    try:
        return time.strftime("%Y-%m-%d", time.gmtime(begun))
    except (ValueError, OverflowError, OSError):  # a file may say anything
        return time.strftime("%Y-%m-%d")


def _each(
    flows: Sequence[flow.Flow], skipped_for: SkippedFor, *, strict: bool
) -> Iterator[tuple[flow.Flow, Stored | str]]:
    """Yield each flow with its answer, or why it has none."""
    for each in flows:
        if not isinstance(each, http.HTTPFlow):
            yield each, "not an HTTP flow"
            continue
        try:
            skipped = skipped_for(each)
            yield each, stored(each, strict=strict, skipped=skipped)
        except (ValueError, OverflowError) as error:  # a file may say anything
            yield each, brief(str(error))


def _name(each: flow.Flow, answer: Stored | None = None) -> list[str]:
    host = answer.host if answer else ""
    return [
        brief(each.id[:8]),
        brief(host),
        brief(answer.asked.model if answer else ""),
    ]
