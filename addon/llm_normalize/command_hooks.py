"""The commands that mitmproxy gets from the addon; `commands` says what they report."""

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import cast

from mitmproxy import command, exceptions, flow, http, types

from .answer_settings import FixSelection
from .commands import EVERY, capture_rows, fix_rows, one_fix, rerun_rows
from .options import Values
from .records.statistics import Stats
from .repair.fix import Fix


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
        rows = [row for fix in named for row in one_fix(fix, skips, adapted)]
        return _table(rows or fix_rows(EVERY, skips))

    @command.command("normalize.fixes.names")
    def names_command(self) -> Sequence[str]:
        """List the names of all fixes."""
        return [each.name for each in EVERY]

    @command.command("normalize.rerun")
    def rerun_command(self, flows: Sequence[flow.Flow]) -> types.Data:
        """Show what today's fixes do to the original answer, and what differs from then."""
        strict = self.options.strict
        return _table(
            rerun_rows(
                flows, self._fixes_for, strict=strict, skipped_for=self._skipped_for
            )
        )

    @command.command("normalize.capture")
    def capture_command(
        self, flows: Sequence[flow.Flow], folder: types.Path, fill: bool = False
    ) -> types.Data:
        """Write capture folders for a bug report, without keys and ids.

        With *fill*, all words are replaced by others of the same length.
        """
        where = Path(folder).expanduser()
        try:
            return _table(
                capture_rows(
                    flows,
                    where,
                    self._fixes_for,
                    fill=fill,
                    skipped_for=self._skipped_for,
                )
            )
        except OSError as error:
            raise exceptions.CommandError(
                f"normalize.capture: {where}: {error.strerror or error}"
            ) from error

    def _fixes_for(self, flow: http.HTTPFlow) -> Sequence[type[Fix]]:
        return self.selection.of(flow.request).fixes

    def _skipped_for(self, flow: http.HTTPFlow) -> Collection[str]:
        return self.selection.of(flow.request).skipped


def _table(rows: Iterable[Sequence[str]]) -> types.Data:
    return cast(types.Data, [list(row) for row in rows])
