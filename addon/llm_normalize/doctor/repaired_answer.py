"""What the addon makes of an answer: its own hooks' code, on a flow without a network."""

import asyncio
import logging
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Any, Self

from mitmproxy import connection, flow, http

from ..exchange.answer_lifecycle import Answers
from ..exchange.source.translation import TranslationMemory
from ..exchange.state.exchange import Exchange
from ..exchange.state.settings import Settings
from ..fixes import FIXES
from ..records.pair_rows import Row
from ..records.snapshot import KEY
from ..records.statistics import Stats
from ..wire.json_text import dumps
from .probes import PENDING_HEADER, Answer

PENDING = "answer-pending"
CONTENT_TYPE = "content-type-wrong"
_READ = 64 * 1024
_URL = "http://provider/v1/chat/completions"
# Nothing is fetched: that would be a request that nobody announced.
_SETTINGS = Settings(
    [fix for fix in FIXES if fix.name != PENDING],
    strict=False,
    log=None,
)


@dataclass(frozen=True)
class Repaired:
    """What the client gets.

    Attributes:
        status: The HTTP status.
        content_type: What it is called.
        data: The body; None where nothing can be sent.
        events: Events that were received.
        fixes: Events that each fix changed.
        pairs: The changed events, as many as the addon keeps to be looked at.
        warnings: What the addon logged.
    """

    status: int
    content_type: str
    data: bytes | None
    events: int
    fixes: dict[str, int]
    pairs: list[Row]
    warnings: list[str]


async def _wait(waits: Awaitable[None]) -> None:
    await waits


def repaired(answer: Answer) -> Repaired:
    """Pass *answer* through the addon."""
    made = _flow(answer)
    exchange = Exchange(made)
    response = exchange.response
    answers = Answers(Stats(), lambda _: _SETTINGS, TranslationMemory())
    with _Warnings() as warnings:
        answers.begin(exchange)
        rewriter = exchange.running.rewriter if exchange.running else None
        out: bytes | None = None
        if rewriter is not None:
            rewriter.on_growth = _nobody_looks
            data = answer.data  # no read is larger, nor is one looked at as a whole
            reads = (data[at : at + _READ] for at in range(0, len(data), _READ))
            out = b"".join(_joined(rewriter.read(read)) for read in reads)
            out += b"" if answer.broke else _joined(rewriter.read(b""))
        elif not answer.broke:
            response.data.content = answer.data
        if answer.broke:
            made.error = flow.Error(answer.broke)
            answers.broke(exchange)
        else:
            waits = answers.end(exchange)
            if waits is not None:  # it is large
                asyncio.run(_wait(waits))
    seen: dict[str, Any] = made.metadata[KEY]
    if out is None and not answer.broke:
        out = response.raw_content
    return Repaired(
        status=response.status_code,
        content_type=response.headers.get("content-type", ""),
        data=out,
        events=seen["events"],
        fixes=dict(seen["fixes"]),
        pairs=[Row.from_stored(each) for each in seen["pairs"]],
        warnings=warnings.found,
    )


def _nobody_looks() -> None:
    """Replace what shows a stream while it runs: that takes a mitmproxy."""


def _joined(out: bytes | Any) -> bytes:
    return out if isinstance(out, bytes) else b"".join(out)


def _flow(answer: Answer) -> http.HTTPFlow:
    """The exchange as mitmproxy would have it, when the headers have come."""
    here = ("127.0.0.1", 1)
    client = connection.Client(
        peername=here,
        sockname=here,
        timestamp_start=0,
        state=connection.ConnectionState.OPEN,
    )
    exchange = http.HTTPFlow(client, connection.Server(address=None))
    exchange.request = http.Request.make("POST", _URL, dumps(answer.body))
    headers = {"content-type": answer.content_type} if answer.content_type else {}
    if answer.pending:
        headers[PENDING_HEADER] = "1"
    exchange.response = http.Response.make(answer.status, b"", headers)
    return exchange


class _Warnings(logging.Handler):
    """Takes what the addon says in mitmproxy's event log, for a while."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.found: list[str] = []
        self._logger = logging.getLogger("llm_normalize")

    def emit(self, record: logging.LogRecord) -> None:
        """Take *record*, without its traceback."""
        self.found.append(record.getMessage())

    def __enter__(self) -> Self:
        self._logger.addHandler(self)
        self._logger.propagate = False
        return self

    def __exit__(self, *_: object) -> None:
        self._logger.removeHandler(self)
        self._logger.propagate = True
