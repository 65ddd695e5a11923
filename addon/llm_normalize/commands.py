"""The commands that mitmproxy gets from the addon, and the tables that they report.

The first row of a table is its heading.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import cast

from mitmproxy import command, exceptions, flow, http, types

from .answer_settings import FixSelection, Selected
from .capture.folder import Capture, write
from .capture.rerun import differences, repair
from .exchange.record.stored_flow import Stored, stored
from .options import EVERY, Named, Repair, Values
from .records.statistics import Stats
from .repair.declaration import Declaration
from .repair.fix import Fix
from .text.printable import brief

type Rows = Iterator[list[str]]
type SelectedFor = Callable[[http.HTTPFlow], Selected]
"""Returns what counts for a flow today."""


class CommandHooks:
    """An addon's commands.

    Args:
        options: The values of the options.
        stats: What was repaired.
    """

    def __init__(self, options: Values, stats: Stats) -> None:
        self.options = options
        self.stats = stats
        self.selection = FixSelection(options)

    @command.command("normalize.stats")
    def stats_command(self) -> types.Data:
        """Show what was repaired, by host, model and fix."""
        return _table(self.stats.rows())

    @command.command("normalize.fixes")
    @command.argument("name", type=types.Choice("normalize.fixes.names"))
    def fixes_command(self, name: str = "") -> types.Data:
        """Show all fixes, and which of them are skipped; or all about one."""
        named = [fix for fix in EVERY if fix.name == name]
        skips, adapted = self.options.skip, self.options.adapt
        rows = [row for fix in named for row in _one_fix(fix, skips, adapted)]
        return _table(rows or _fix_rows(skips))

    @command.command("normalize.fixes.names")
    def names_command(self) -> Sequence[str]:
        """List the names of all fixes."""
        return [each.name for each in EVERY]

    @command.command("normalize.rerun")
    def rerun_command(self, flows: Sequence[flow.Flow]) -> types.Data:
        """Show what today's fixes do to the original answer, and what differs from then."""
        strict = self.options.strict
        return _table(_rerun_rows(flows, self._selected, strict=strict))

    @command.command("normalize.capture")
    def capture_command(
        self, flows: Sequence[flow.Flow], folder: types.Path, fill: bool = False
    ) -> types.Data:
        """Write capture folders for a bug report, without keys and ids.

        With *fill*, all words are replaced by others of the same length.
        """
        where = Path(folder).expanduser()
        try:
            return _table(capture_rows(flows, where, self._selected, fill=fill))
        except OSError as error:
            raise exceptions.CommandError(
                f"normalize.capture: {where}: {error.strerror or error}"
            ) from error

    def _selected(self, flow: http.HTTPFlow) -> Selected:
        return self.selection.of(flow.request)


def _table(rows: Iterable[Sequence[str]]) -> types.Data:
    return cast(types.Data, [list(row) for row in rows])


def _fix_rows(skips: Sequence[Named]) -> Rows:
    """Yield all fixes and adaptations, and which of them are skipped."""
    yield ["fix", "skipped", "change"]
    for fix in EVERY:
        yield [fix.name, _skipped(fix.name, skips), fix.changes]


def _one_fix(fix: Repair, skips: Sequence[Named], adapted: Sequence[Named]) -> Rows:
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


def _rerun_rows(
    flows: Sequence[flow.Flow], selected: SelectedFor, *, strict: bool
) -> Rows:
    """Yield what today's fixes make of what was received, and whether that is what was sent."""
    yield ["flow", "host", "model", "result"]
    for each, answer, fixes in _each(flows, selected, strict=strict):
        if isinstance(answer, str):
            yield [*_name(each), answer]
            continue
        results = list(_rerun(answer, fixes))
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
    selected: SelectedFor,
    *,
    fill: bool,
) -> Rows:
    """Write a capture folder of each flow, and yield where they are.

    Raises:
        OSError: One cannot be written.
    """
    yield ["folder", "fixes", "note"]
    for each, answer, fixes in _each(flows, selected, strict=False):
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
        made = write(where, capture, fixes, answer.secrets, fill=fill)
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
    flows: Sequence[flow.Flow], selected: SelectedFor, *, strict: bool
) -> Iterator[tuple[flow.Flow, Stored | str, Sequence[type[Fix]]]]:
    """Yield each flow with its answer, or why it has none, and the fixes that count for it."""
    for each in flows:
        if not isinstance(each, http.HTTPFlow):
            yield each, "not an HTTP flow", ()
            continue
        try:
            found = selected(each)
            answer = stored(each, strict=strict, skipped=found.skipped)
        except (ValueError, OverflowError) as error:  # a file may say anything
            yield each, brief(str(error)), ()
            continue
        yield each, answer, found.fixes


def _name(each: flow.Flow, answer: Stored | None = None) -> list[str]:
    host = answer.host if answer else ""
    return [
        brief(each.id[:8]),
        brief(host),
        brief(answer.asked.model if answer else ""),
    ]
