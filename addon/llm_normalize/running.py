"""One answer on its way: what was asked, what counts for it, and its record."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from mitmproxy import http

from .fix import Fix
from .flows import answers_events, secrets_of
from .legible import brief
from .line import Record
from .pairs import PairsLog
from .record import KEY, Answer
from .stats import Stats
from .stream import Rewriter
from .stream_state import Asked

logger = logging.getLogger(__name__)

_NAME = 1000  # characters of a name, in a record


@dataclass(frozen=True)
class Settings:
    """What counts for an answer from its beginning to its end.

    Attributes:
        fixes: The fixes to apply, in order.
        observe: Change nothing, report what would be changed.
        strict: Drop fields that OpenAI does not define.
        log: The pairs log, if there is one.
        shown: Whether anybody can look at a flow's metadata once it is over.
    """

    fixes: Sequence[type[Fix]]
    observe: bool
    strict: bool
    log: PairsLog | None
    shown: bool = True

    def applies(self, name: str) -> bool:
        """Tell whether the fix *name* is to be applied, not only observed."""
        return not self.observe and any(fix.name == name for fix in self.fixes)


@dataclass
class Running:
    """One answer on its way.

    Attributes:
        answer: What is known of it.
        asked: What its request asked.
        settings: What counts for it.
        rewriter: What its body passes, if it is a stream.
        pending: Whether it is not ready yet, and will be fetched.
        status: The HTTP status that has left for the client, if any.
        on_end: Called when that has come to its end.
    """

    answer: Answer
    asked: Asked
    settings: Settings
    rewriter: Rewriter | None = None
    pending: bool = False
    status: int | None = None
    on_end: Callable[[], None] = lambda: None

    @classmethod
    def of(cls, flow: http.HTTPFlow, settings: Settings) -> "Running":
        """Return the answer of *flow*, whose headers may have come."""
        asked = _asked_of(flow, settings)
        return cls(_answer(flow, asked, settings), asked, settings)

    def close(self, stats: Stats, status: int | None, end: str) -> Record:
        """Write the record of a stream, or of an answer that never came."""
        figures = (0, 0, 0)
        if self.rewriter is not None:
            rewriter = self.rewriter
            unread = rewriter.pipeline.raw_events
            if unread:
                logger.info(
                    "normalize: %s: %d events passed unread (%s)",
                    brief(self.answer.host),
                    unread.total(),
                    ", ".join(f"{reason} {count}" for reason, count in unread.items()),
                )
            figures = (rewriter.pipeline.events, rewriter.bytes_in, rewriter.bytes_out)
        return self.write(stats, status, end, figures)

    def write(
        self, stats: Stats, status: int | None, end: str, figures: tuple[int, int, int]
    ) -> Record:
        """Write the record, with its *figures*: events, bytes in, bytes out."""
        answer = self.answer
        record = answer.close(status, end, *figures)
        stats.add(answer.host, answer.model, record["fixes"])
        if record["fixes"]:
            logger.info(
                "normalize: %s %s: %d of %d events %s (%s)",
                brief(answer.host),
                brief(answer.model),
                answer.changed,
                record["events"],
                "would be repaired" if answer.observe else "repaired",
                ", ".join(f"{name} {count}" for name, count in record["fixes"].items()),
            )
        return record

    def keep(self, flow: http.HTTPFlow, record: Record) -> None:
        """Let mitmweb and `-w` files show what was sent, and the view what changed."""
        rewriter = self.rewriter
        cut = rewriter is not None and rewriter.body_cut
        flow.metadata[KEY] = self.answer.metadata(record, body_cut=cut)
        if rewriter and flow.response is not None and not flow.response.raw_content:
            # Not the `content` setter: it would encode, and set a content-length.
            flow.response.data.content = rewriter.body


def _asked_of(flow: http.HTTPFlow, settings: Settings) -> Asked:
    """Return what the request of *flow* asked."""
    request, response = flow.request, flow.response
    if request.raw_content is None and response is not None:
        # Sent on unread (stream_large_bodies): the answer tells what was asked.
        asked = Asked(stream=answers_events(response))
    else:
        asked = Asked.from_body(request.get_content(strict=False))
    begun = response.timestamp_start if response else request.timestamp_start
    return replace(asked, id=flow.id, time=int(begun), strict=settings.strict)


def _answer(flow: http.HTTPFlow, asked: Asked, settings: Settings) -> Answer:
    request = flow.request
    log = settings.log
    return Answer(
        flow=flow.id,
        host=request.pretty_host[:_NAME],
        path=request.path.partition("?")[0][:_NAME],
        model=asked.model[:_NAME],
        stream=asked.stream,
        observe=settings.observe,
        asked_at=request.timestamp_end or request.timestamp_start,
        write=log.write if log is not None else None,
        secrets=secrets_of(request),
        shown=settings.shown,
    )
