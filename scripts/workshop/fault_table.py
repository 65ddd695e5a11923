"""The faults that are tested, as addon/docs/reliability.md lists them.

Each is here once; its tests in `tests/faults` name it (`pytest.mark.fault`), and
`tests/docs/test_faults.py` asks pytest whether neither is without the other.
"""

from collections.abc import Iterator
from typing import NamedTuple


class Fault(NamedTuple):
    """One row of the table.

    Attributes:
        name: What pytest's marker calls it; unique.
        happens: What happens.
        client: What the client gets.
        log: What the log says.
    """

    name: str
    happens: str
    client: str
    log: str


FAULTS = {
    "test_provider": (
        Fault(
            name="no-answer",
            happens="the provider resets or closes before the headers are complete",
            client="502 in OpenAI's form",
            log="`error`, status 502",
        ),
        Fault(
            name="no-http",
            happens="the provider answers with something other than HTTP, or an impossible length",
            client="502 in OpenAI's form",
            log="`error`, status 502",
        ),
        Fault(
            name="mid-event",
            happens="the provider resets or closes in the middle of an event",
            client="the events that were complete, then a break-off",
            log="`upstream-broke`",
        ),
        Fault(
            name="mid-utf-8",
            happens="the provider resets in the middle of a character",
            client="the events that were complete, then a break-off",
            log="`upstream-broke`",
        ),
        Fault(
            name="mid-gzip",
            happens="the provider resets in the middle of a gzip block",
            client="the events that were complete, then a break-off",
            log="`upstream-broke`",
        ),
        Fault(
            name="mid-chunk",
            happens="the provider resets between an HTTP chunk's size and its data, or sends garbage for a chunk",
            client="the events that were complete, then a break-off",
            log="`upstream-broke`",
        ),
        Fault(
            name="finish-waits",
            happens="the provider breaks off after the finish reason, which may still wait",
            client="all of it, with `[DONE]`: a finish is an end",
            log="`complete`",
        ),
        Fault(
            name="after-done",
            happens="the provider resets or closes after `[DONE]`, before the answer's end",
            client="all of it",
            log="`complete`",
        ),
        Fault(
            name="never-closes",
            happens="the provider falls silent, before or after `[DONE]`",
            client="what has arrived, and the end: 100 ms after `[DONE]`, `normalize_keepalive` after the last finish reason; before that the answer stays open until a side disconnects",
            log="`complete` after a finish reason, else `client-left`",
        ),
        Fault(
            name="slow",
            happens="the provider sends a byte a second",
            client="every event as soon as it is complete",
            log="`complete`",
        ),
        Fault(
            name="length-too-long",
            happens="the provider sends less than its `content-length`, and closes",
            client="all that arrived, then a break-off, unless that was all",
            log="`upstream-broke`; `complete` after `[DONE]`",
        ),
        Fault(
            name="length-too-short",
            happens="the provider sends more than its `content-length`, or an empty chunk in the middle",
            client="what stands before that, as HTTP demands; no `[DONE]`",
            log="`complete`; mitmproxy logs the rest",
        ),
        Fault(
            name="odd-http",
            happens="the provider sends chunk extensions, or 1 MB of headers",
            client="the answer",
            log="`complete`",
        ),
        Fault(
            name="trailers",
            happens="the provider sends HTTP/1 trailers",
            client="all of it; mitmproxy 12 fails at them, so the addon ends the answer after `[DONE]`",
            log="`complete`; `mitmproxy has crashed!`",
        ),
        Fault(
            name="corrupt-gzip",
            happens="the provider sends gzip that turns out corrupt",
            client="what arrived before, then a break-off",
            log="`upstream-broke`, and a line with the reason",
        ),
        Fault(
            name="gzip-garbage",
            happens="the provider sends garbage after a whole gzip body",
            client="all of it, and nothing of the garbage",
            log="`complete`",
        ),
        Fault(
            name="gzip-short",
            happens="the provider sends gzip without its end, and ends the answer",
            client="what arrived, a half event too; no `[DONE]`",
            log="`complete`",
        ),
        Fault(
            name="encoding-unknown",
            happens="the provider sends an unknown encoding, or names one twice",
            client="what the provider sends, untouched and without delay",
            log="`complete`, nothing counted, and a line that names the encoding",
        ),
        Fault(
            name="after-the-end",
            happens="the provider resets the connection after the answer's end",
            client="the answer; the client's connection takes the next request",
            log="`complete`",
        ),
        Fault(
            name="interim",
            happens="the provider sends a 1xx before its answer, by HTTP/1",
            client="the 1xx alone: mitmproxy 12 takes it for the answer",
            log="`complete`, status 1xx; mitmproxy logs the rest",
        ),
        Fault(
            name="broken-body",
            happens="the provider breaks off a JSON body",
            client="502 in OpenAI's form: nothing had been sent",
            log="`upstream-broke`, status 502",
        ),
    ),
    "test_large": (
        Fault(
            name="endless-event",
            happens="the provider sends 8 MiB and a byte without a line end",
            client="all of it, unread; the events after it repaired",
            log="`complete`; how many events passed unread",
        ),
        Fault(
            name="endless-line",
            happens="the provider sends 40 MiB without a line end, and nothing else",
            client="all of it, unread, while it arrives",
            log="`complete`; how many events passed unread",
        ),
        Fault(
            name="gzip-bomb",
            happens="the provider sends a gzip bomb as a stream",
            client="what it inflates to, unread, while it arrives; no more of it is in memory than one read (64 KB) makes, which is 64 MB at the worst",
            log="`complete`; how many events passed unread",
        ),
        Fault(
            name="gzip-bomb-body",
            happens="the provider sends a gzip bomb for a JSON body, or for an error",
            client="the gzip bytes unchanged",
            log="`complete`; a line that it is too large",
        ),
    ),
    "test_bursts": (
        Fault(
            name="burst",
            happens="the provider sends at once 1,500 events of which no two are alike",
            client="all of it, repaired; other answers pass meanwhile",
            log="`complete`",
        ),
        Fault(
            name="burst-break",
            happens="the provider breaks off behind such a burst",
            client="the whole of what arrived, repaired, and a break-off",
            log="`upstream-broke`",
        ),
        Fault(
            name="burst-leaves",
            happens="the client disconnects while much of a burst waits",
            client="what had arrived by then",
            log="`client-left`",
        ),
    ),
    "test_aside": (
        Fault(
            name="large-body",
            happens="a large body takes long to repair",
            client="the repaired body; other answers pass meanwhile",
            log="`complete`",
        ),
        Fault(
            name="large-body-leaves",
            happens="the client disconnects while a large body is repaired",
            client="nothing",
            log="`client-left`",
        ),
        Fault(
            name="large-body-reload",
            happens="the addon is reloaded while a large body is repaired",
            client="the body, repaired by the old code",
            log="`complete`",
        ),
        Fault(
            name="large-body-end",
            happens="mitmdump ends while a large body is repaired",
            client="nothing",
            log="`upstream-broke`, at once; nothing is changed",
        ),
    ),
    "test_provider_http2": (
        Fault(
            name="http2-no-answer",
            happens="by HTTP/2, the provider sends RST_STREAM or GOAWAY before the headers, or more than 64 KB of them",
            client="502 in OpenAI's form",
            log="`error`, status 502",
        ),
        Fault(
            name="http2-reset",
            happens="by HTTP/2, the provider sends RST_STREAM in the middle of an event, with whatever code",
            client="the events that were complete, then a break-off",
            log="`upstream-broke`",
        ),
        Fault(
            name="http2-after-done",
            happens="by HTTP/2, the provider sends RST_STREAM after `[DONE]`, before the stream's end",
            client="all of it",
            log="`complete`",
        ),
        Fault(
            name="http2-goaway",
            happens="by HTTP/2, the provider sends GOAWAY while a stream is open, even a graceful one",
            client="what has arrived, then a break-off: mitmproxy 12 ends all streams of that connection (each client has its own)",
            log="`upstream-broke`",
        ),
        Fault(
            name="http2-broken",
            happens="by HTTP/2, the provider closes the connection, or breaks the protocol",
            client="what has arrived, then a break-off",
            log="`upstream-broke`",
        ),
        Fault(
            name="http2-corrupt-gzip",
            happens="by HTTP/2, the provider sends gzip that turns out corrupt",
            client="what arrived before, then a break-off; others on that connection continue",
            log="`upstream-broke`, and a line with the reason",
        ),
        Fault(
            name="http2-odd",
            happens="by HTTP/2, the provider sends a 1xx first, empty DATA frames, or GOAWAY after the end",
            client="the answer",
            log="`complete`",
        ),
        Fault(
            name="http2-trailers",
            happens="by HTTP/2, the provider sends trailers",
            client="the answer; the trailers too, if it speaks HTTP/2",
            log="`complete`",
        ),
        Fault(
            name="http2-cancel",
            happens="by HTTP/2, the provider sends RST_STREAM with CANCEL in the middle",
            client="the events that were complete, then a break-off",
            log="`upstream-broke`",
        ),
        Fault(
            name="http2-turned-away",
            happens="by HTTP/2, the provider sends RST_STREAM with CANCEL or HTTP_1_1_REQUIRED before the headers",
            client="502 in OpenAI's form; HTTP_1_1_REQUIRED itself if it speaks HTTP/2, too",
            log="`error`, status 502; no status for the reset",
        ),
    ),
    "test_down": (
        Fault(
            name="down-routed",
            happens="the target of a route refuses the connection, has no address, a wrong certificate, or no TLS",
            client="502 in OpenAI's form, which names the host and the reason; its connection takes the next request, which is tried again",
            log="`error`, status 502",
        ),
        Fault(
            name="down-loop",
            happens="a route leads to the proxy itself",
            client="508 in OpenAI's form",
            log="`error`, status 508",
        ),
        Fault(
            name="down",
            happens="a selected host has a certificate that nobody trusts",
            client="to a chat completion 502 in OpenAI's form; to all else mitmproxy's 502",
            log="`error`, status 502",
        ),
        Fault(
            name="down-behind",
            happens="mitmproxy's own upstream proxy refuses; or an answer through it turns out to be corrupt gzip, and stalls",
            client="502 in OpenAI's form; or a break-off at once",
            log="`error`, status 502; or `upstream-broke`",
        ),
    ),
    "test_client": (
        Fault(
            name="leaves-asking",
            happens="the client disconnects before its request is complete, or before the answer",
            client="nothing",
            log="`error`, no status",
        ),
        Fault(
            name="leaves",
            happens="the client disconnects while the answer arrives; by FIN, by RST, or by closing the half it sends on, which mitmproxy takes for a disconnect",
            client="what had arrived by then",
            log="`client-left`; `complete` after `[DONE]`",
        ),
        Fault(
            name="pipelines",
            happens="the client sends its next request while an answer arrives",
            client="both answers, one after the other",
            log="`complete`, twice",
        ),
        Fault(
            name="reads-late",
            happens="the client stops reading for a while",
            client="the answer; the provider has to wait meanwhile, and nothing piles up",
            log="`complete`",
        ),
        Fault(
            name="reads-late-broken",
            happens="the provider breaks off or sends corrupt data, while the client does not read",
            client="all that was complete before, then the break-off",
            log="`upstream-broke`",
        ),
        Fault(
            name="garbage-asked",
            happens="the client sends something other than HTTP, or a body that is not JSON",
            client="mitmproxy's 400; if the body is not JSON, the provider's answer",
            log="a flow record if it was an HTTP request",
        ),
        Fault(
            name="asked-too-much",
            happens="the client's request is larger than mitmproxy's `body_size_limit`, or ambiguous",
            client="mitmproxy's 413 or 400; the provider gets no request",
            log="`error`, with that status",
        ),
        Fault(
            name="http2-leaves",
            happens="an HTTP/2 client cancels its stream, sends GOAWAY, or hangs up",
            client="what had arrived by then",
            log="`client-left`",
        ),
        Fault(
            name="leaves-waiting",
            happens="the client disconnects, or cancels its HTTP/2 stream, while a refused request is sent again",
            client="nothing",
            log="`client-left`, no status before the second answer has one",
        ),
    ),
    "test_many_streams": (
        Fault(
            name="many-http1",
            happens="one HTTP/2 client has twelve streams at once, the provider speaks HTTP/1.1",
            client="five at once; each of the others begins when one of these ends, as with mitmproxy alone",
            log="`complete`, each; its waiting is in `first_ms`",
        ),
        Fault(
            name="many-http2",
            happens="one of twelve streams over one HTTP/2 connection is reset, or cancelled by its client",
            client="the others, complete",
            log="`upstream-broke` or `client-left` for that one",
        ),
        Fault(
            name="many-corrupt",
            happens="one of several streams of an HTTP/2 client turns out to be corrupt gzip, whatever the provider speaks",
            client="of that one what arrived before, then a break-off at once; the others, complete",
            log="`upstream-broke` for that one, and a line with the reason",
        ),
        Fault(
            name="many-corrupt-closed",
            happens="by HTTP/1.1, the provider continues an answer that turned out to be corrupt gzip, while its HTTP/2 client has other streams",
            client="of that one what was valid, then a break-off at once; the others, complete",
            log="`upstream-broke` for that one; the provider's connection is closed",
        ),
        Fault(
            name="many-corrupt-cancelled",
            happens="the provider continues a stream that turned out to be corrupt gzip, over one HTTP/2 connection with others",
            client="nothing of it: the addon stops the provider, and its connection remains in use",
            log="`upstream-broke`",
        ),
    ),
    "test_signals": (
        Fault(
            name="terminated",
            happens="mitmdump is ended (SIGTERM, Ctrl-C) while answers arrive",
            client="what had been forwarded by then, and a break-off",
            log="every line, and `upstream-broke` for what was under way",
        ),
        Fault(
            name="killed",
            happens="mitmdump is killed (SIGKILL), in the middle of a line, too",
            client="what had been forwarded by then, and a break-off",
            log="all but the last fifth of a second; the next start repairs half a line at its end, and continues in the same file",
        ),
        Fault(
            name="stopped",
            happens="mitmdump is stopped for a while, as by a machine that sleeps",
            client="the answer, with that pause",
            log="`complete`",
        ),
    ),
    "test_disk": (
        Fault(
            name="disk-full",
            happens="the disk is full, and later there is room again",
            client="the answer, repaired as usual",
            log="one sentence in mitmproxy's log; with room again, how many lines were lost, and the log continues; no line is half",
        ),
        Fault(
            name="disk-full-for-real",
            happens="the same on a small tmpfs, also while the log rotates",
            client="the answer, repaired as usual",
            log="the same",
        ),
        Fault(
            name="cannot-rotate",
            happens="the log cannot rotate",
            client="the answer, repaired as usual",
            log="the same",
        ),
        Fault(
            name="disk-hangs",
            happens="the disk with the log hangs",
            client="the answer, repaired as usual",
            log="up to 64 MB wait, what exceeds them is counted as lost; mitmdump takes five seconds to end",
        ),
        Fault(
            name="flow-file-full",
            happens="the disk is full, and mitmproxy writes flows to it (`-w`)",
            client="nothing: mitmproxy ends itself, with the addon or without",
            log="mitmproxy's own error",
        ),
        Fault(
            name="no-handles",
            happens="mitmdump has no free file handle",
            client="the answers under way; a new client waits until there are some again",
            log="`complete`; Python's error at each client that waits",
        ),
    ),
    "test_log_folder": (
        Fault(
            name="log-removed",
            happens="the log, or its folder, is deleted or moved away",
            client="the answer, repaired as usual",
            log="continues in a new file, in a new folder if necessary; what had been written stays in the old one",
        ),
        Fault(
            name="log-is-folder",
            happens="a folder takes the log's place",
            client="the answer, repaired as usual",
            log="one sentence in mitmproxy's log; once it is gone, how many lines were lost, and the log continues",
        ),
        Fault(
            name="log-not-ours",
            happens="a link, a pipe or another user's file takes the log's place, or others may write to its folder",
            client="the answer, repaired as usual",
            log="one log line in mitmproxy that says how to fix it; after that, how many lines were lost, and the log continues",
        ),
        Fault(
            name="read-only",
            happens="the log's folder cannot be written to",
            client="the answer, repaired as usual",
            log="the same; a log that is open continues, but cannot rotate",
        ),
    ),
    "test_changes": (
        Fault(
            name="options-change",
            happens="any option is changed while an answer arrives",
            client="the answer as it began",
            log="in the log that it began in",
        ),
        Fault(
            name="too-large",
            happens="mitmproxy's `body_size_limit` is set, and an answer is larger",
            client="a stream: all of it, unless its `content-length` shows it beforehand; else 502 in OpenAI's form",
            log="`complete`; else `upstream-broke`, status 502",
        ),
        Fault(
            name="reloaded",
            happens="the addon is reloaded while answers arrive",
            client="the answers, repaired to their end; new ones by the new code",
            log="all of them, in the same file",
        ),
        Fault(
            name="reloaded-then-broken",
            happens="an answer breaks off, or its client disconnects, after a reload",
            client="what had arrived by then, and a break-off",
            log="`upstream-broke` or `client-left`, as usual",
        ),
        Fault(
            name="clock",
            happens="the clock is set back, or ahead, while an answer arrives",
            client="the answer",
            log="the durations that really passed; `time` is the clock's",
        ),
    ),
    "test_bugs": (
        Fault(
            name="fix-raises",
            happens="a fix raises, MemoryError and RecursionError included",
            client="the current event unchanged; all others without that fix only",
            log="the fix and the reason, once a stream; `complete`",
        ),
        Fault(
            name="fix-returns-nonsense",
            happens="a fix returns a wrong value, or the addon fails elsewhere in a stream",
            client="the rest of the answer as the provider sends it",
            log="the reason, once a stream; `complete`",
        ),
        Fault(
            name="observer-raises",
            happens="the code that records an answer raises: an event's record, an event that is not parsed, the figures",
            client="the answer, repaired as usual",
            log="the reason; that record is missing",
        ),
        Fault(
            name="fix-exits",
            happens="a fix raises SystemExit or KeyboardInterrupt",
            client="what had been forwarded by then, and a break-off: mitmdump ends, as that demands",
            log="every line until then",
        ),
    ),
}
"""By the module with their tests, in the table's order."""


def markdown() -> str:
    """Return the table."""
    return "\n".join(_lines())


def _lines() -> Iterator[str]:
    yield "| what happens | what the client gets | what the log says |"
    yield "| --- | --- | --- |"
    for module, rows in FAULTS.items():
        for row in rows:
            link = f"[{row.happens}](../../tests/faults/{module}.py)"
            yield f"| {link} | {row.client} | {row.log} |"
