"""When a stream learns a template, and when it discards it.

A template holds as long as the stream is settled. The stream verifies this: it processes
two events with different texts on the slow path, and neither may change the state that
decides the next event's output. A change of that state discards all templates.
"""

import logging
from collections.abc import Callable

from ..outcome import EventRecord
from .template import Template
from .template_candidate import Candidate, learn, may_fit

logger = logging.getLogger(__name__)

MAX_TEMPLATES = 8
"""Templates of a stream: two kinds of text of a few choices."""

_TRIES = 16  # events from which a stream may try to learn, however few fitted
_FITTED = 4  # events that must have fitted for each try beyond those


class Templates:
    """What one stream has learned.

    Args:
        label: Names the stream in log lines.
    """

    def __init__(self, label: str = "stream") -> None:
        self.known: list[Template] = []
        """What holds now, to be tried on an event."""
        self.long = 0
        """Events processed on the slow path."""
        self._before: object = None  # the state before the last event
        self._candidates: list[Candidate] = []  # seen once
        self._tries = 0
        self._label = label
        self._over = False

    def forget(self) -> None:
        """Discard all templates."""
        self._before = None
        self.known.clear()
        self._candidates.clear()

    def stop(self, error: Exception) -> None:
        """Learn nothing more of this stream: a bug was met, which may cost no more."""
        logger.error("%s: no more is learned", self._label, exc_info=error)
        self._over = True
        self.forget()

    def watch(
        self,
        record: EventRecord,
        state: Callable[[], object],
        watched: Callable[[], set[str]],
    ) -> None:
        """Learn from an event processed on the slow path. Never raises.

        Args:
            record: The event.
            state: Returns what decides, beside the event itself, on what becomes of the
                next one; None while nobody can say.
            watched: Returns the keys whose words decide, too.
        """
        self.long += 1
        if self._over:
            return
        try:
            self._watch(record, state, watched)
        except RecursionError:  # nested too deep to be compared
            self.forget()
        except Exception as error:  # noqa: BLE001 - it costs the templates only
            self.stop(error)

    def _watch(
        self,
        record: EventRecord,
        state: Callable[[], object],
        watched: Callable[[], set[str]],
    ) -> None:
        fitted = record.n + 1 - self.long
        may_try = self._tries < _TRIES + fitted // _FITTED
        # What fits a candidate is worth a try: it need not be searched.
        is_like = bool(self._candidates) or may_fit(record.before or b"")
        tries = may_try and is_like
        if not tries and not self.known:
            self._before = None
            return
        self._tries += tries
        before, self._before = self._before, state()
        if self._before is None or self._before != before:
            self.known.clear()
            self._candidates.clear()
        elif tries:
            self._learn(record, watched())

    def _learn(self, record: EventRecord, watched: set[str]) -> None:
        for other in self._candidates:
            if other.is_proved_by(record, watched):
                self._candidates.remove(other)
                self.known[:] = [other.template, *self.known][:MAX_TEMPLATES]
                return
        candidate = learn(record)
        if candidate is not None:
            self._candidates = [candidate, *self._candidates][:MAX_TEMPLATES]
