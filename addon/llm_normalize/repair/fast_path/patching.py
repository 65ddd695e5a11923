"""Patches events that match a template, without parsing them."""

import logging
from collections.abc import Callable

from ...chat.stream_state import Seen
from ...chat.tool_calls.sent_call import may_begin_object
from ...wire.sse import LIMIT, Event, EventParser
from ..outcome import EventRecord
from ..output import Output
from .learned_templates import Templates
from .template import Template

logger = logging.getLogger(__name__)


class EventPatcher:
    """Patches the events of one stream that match a template.

    Args:
        templates: What the stream has learned.
        parser: Whose events they are; it numbers them.
        seen: Records what the client has to have seen.
        output: Where they are sent.
        count: Called with an event that was changed: its number, its bytes before and
            after, the template. Tells whether that will do, and no `EventRecord` is wanted.
        label: Names the stream in log lines.
    """

    def __init__(
        self,
        templates: Templates,
        parser: EventParser,
        seen: Seen,
        output: Output,
        count: Callable[[int, bytes, bytes, Template], bool],
        label: str,
    ) -> None:
        self._templates = templates
        self._known = templates.known
        self._parser = parser
        self._output = output
        self._translate = output.translate
        self._repeated: Template | None = None  # of which only the number is wanted
        self._repeats = 0
        self._counts_repeats = False
        self.counted: Event | None = None
        """The last one, if it has usage: that is taken in when it has to be."""
        self.unknown: bytes | None = None
        """What no template knew last, to be tried once; None if they may be others now."""
        self._seen = seen
        self._count = count
        self._label = label

    @property
    def expected(self) -> Template | None:
        """What the next event of the stream probably fits, if little is done for it then.

        Whoever asks may send what such an event becomes, and say so later: see `count_sent`.
        """
        if not self._known or self._translate is not None:
            return None
        template = self._known[0]
        is_counted = template is self._repeated or not template.out
        is_quick = template.is_sole and is_counted and self._parser.is_between
        return template if is_quick else None

    @property
    def knows_any(self) -> bool:
        """Whether any event may be known."""
        return bool(self._known)

    def count_sent(self, template: Template, count: int) -> None:
        """Count *count* events that were sent as the *template* that was expected says."""
        self._parser.count += count
        self._output.verbatim = not template.fixes
        self._repeats += count if template.out else 0

    def count_repeats(self) -> Callable[[], int]:
        """Count no event that is changed as the one before, but return their number."""
        self._counts_repeats = True
        return self._take_repeats

    def _take_repeats(self) -> int:
        """Return how many more events were changed as the last one that was counted."""
        repeats, self._repeats = self._repeats, 0
        return repeats

    def patch_event(self, data: bytes, n: int | None = None) -> bytes | None:
        """Return what is sent for *data* if it is one event that is known.

        Else None, and nothing has happened. Most events go no further than here. Empty if
        nothing is sent for it: a translation may hold its text back.

        Args:
            data: What was received.
            n: Its place in the stream, if it has been parsed nevertheless.
        """
        parser = self._parser
        if n is None and not (parser.is_between and len(data) <= LIMIT):
            return None
        if self._known and (out := self._patched(data, n)) is not None:
            return out
        self.unknown = data
        return None

    def _patched(self, data: bytes, n: int | None) -> bytes | None:
        """Return what is sent for *data* if it fits a template."""
        for template in self._known:
            try:
                if template.is_sole:
                    out = template.patch(data)
                else:
                    out = self._fit(template, data)
            except Exception as error:  # noqa: BLE001 - the slow path takes it
                self._templates.stop(error)
                return None
            if out is None:
                continue
            if n is None:
                n = self._parser.count
                self._parser.count += 1
            self._output.verbatim = not template.fixes
            if template.counts:
                self.counted = Event(data, n)
            if self._translate is not None:
                out = self._translate(out)
            if out is not data and out != data:
                self._changed(n, data, out, template)
            return out
        return None

    def _changed(self, n: int, data: bytes, out: bytes, template: Template) -> None:
        try:
            will_do = self._count(n, data, out, template)
        except Exception:  # whoever counts cannot change bytes, nor cost any
            logger.exception("%s: event %d is not recorded", self._label, n)
        else:
            is_alike = will_do and self._counts_repeats and template.changes_all
            self._repeated = template if is_alike else None
            if not will_do:
                after = [out] if out else []
                self._output.close(EventRecord(n, data, after, list(template.fixes)))

    def _fit(self, template: Template, raw: bytes) -> bytes | None:
        """Return what is sent for *raw*, and record what its calls say."""
        texts = template.fit(raw)
        if texts is None:
            return None
        added = [*template.added(texts)]
        if any(may_begin_object(text) for _, _, text in added):
            return None  # they may have been sent before, or be of another call
        out = b"".join(template.after(texts)) if template.out else raw
        for each in added:
            self._seen.add_arguments(*each)
        return out
