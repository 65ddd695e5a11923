"""A provider that speaks HTTP/1.1 and goes wrong."""

import json
import threading

from faults.play import CHUNKED, END, SEEN, ZIPPED, Play, act, chunked, head, zipped
from faults.stage import ASKED, DUE, SENT, WHOLE, Stage, whole
from faults.table import Fault, fault, faults
from support import Break

RESET, CUT = Break.RESET, Break.CUT
GZIP = zipped(SENT)
HALF = SENT[2][:30]
"""Half an event."""
NAMED = SENT[1].index("ü".encode()) + 1
"""Where the first event with text is cut in the middle of a character."""
LENGTH = len(whole(SENT))


@faults(
    {
        Fault(
            "no-answer",
            "the provider resets or closes before the headers are complete",
            "502 in OpenAI's form",
            "`error`, status 502",
        ): {
            "reset": Play([RESET], ends="refused"),
            "close": Play([CUT], ends="refused"),
            "reset in the headers": Play([CHUNKED[:40], 0.1, RESET], ends="refused"),
            "close in the headers": Play([CHUNKED[:40], CUT], ends="refused"),
        },
        Fault(
            "no-http",
            "the provider answers with something other than HTTP, or an impossible length",
            "502 in OpenAI's form",
            "`error`, status 502",
        ): {
            "another protocol": Play([b"SSH-2.0-OpenSSH_9.9\r\n", CUT], ends="refused"),
            "no status": Play([b"HTTP/1.1 fine\r\n\r\n"], ends="refused"),
            "no header": Play([head("no colon here")], ends="refused"),
            "two lengths": Play(
                [head("content-length: 5", "content-length: 6"), b"hello!"],
                ends="refused",
            ),
            "a negative length": Play([head("content-length: -5")], ends="refused"),
            "length and chunked": Play(
                [
                    head("content-length: 5", "transfer-encoding: chunked"),
                    chunked(*SENT),
                    END,
                ],
                ends="refused",
            ),
        },
        Fault(
            "mid-event",
            "the provider resets or closes in the middle of an event",
            "the events that were complete, then a break-off",
            "`upstream-broke`",
        ): {
            "reset": Play(
                [CHUNKED, chunked(*SENT[:2], HALF), SEEN, RESET],
                gets=whole(DUE[:2]),
                events=2,
            ),
            "close": Play(
                [CHUNKED, chunked(*SENT[:2], HALF), SEEN, CUT],
                gets=whole(DUE[:2]),
                events=2,
            ),
            "reset before the first": Play([CHUNKED, 0.1, RESET]),
            "close after whole events": Play(
                [CHUNKED, chunked(*SENT[:3]), CUT], gets=whole(DUE[:3]), events=3
            ),
        },
        Fault(
            "mid-utf-8",
            "the provider resets in the middle of a character",
            "the events that were complete, then a break-off",
            "`upstream-broke`",
        ): {
            "reset": Play(
                [CHUNKED, chunked(SENT[0], SENT[1][:NAMED]), SEEN, RESET],
                gets=DUE[0],
                events=1,
            )
        },
        Fault(
            "mid-gzip",
            "the provider resets in the middle of a gzip block",
            "the events that were complete, then a break-off",
            "`upstream-broke`",
        ): {
            "reset": Play(
                [ZIPPED, chunked(*GZIP[:2], GZIP[2][:7]), SEEN, RESET],
                gets=whole(DUE[:2]),
                events=2,
            )
        },
        Fault(
            "mid-chunk",
            "the provider resets between an HTTP chunk's size and its data, or sends garbage "
            "for a chunk",
            "the events that were complete, then a break-off",
            "`upstream-broke`",
        ): {
            "after the size": Play(
                [CHUNKED, chunked(*SENT[:2]), b"5a\r\n", SEEN, RESET],
                gets=whole(DUE[:2]),
                events=2,
            ),
            "in the size": Play(
                [CHUNKED, chunked(*SENT[:2]), b"5a", SEEN, RESET],
                gets=whole(DUE[:2]),
                events=2,
            ),
            "garbage for a size": Play(
                [CHUNKED, chunked(*SENT[:2]), b"garbage\r\n\r\n"],
                gets=whole(DUE[:2]),
                events=2,
                says="illegal chunk header",
            ),
            "garbage after the data": Play(
                [CHUNKED, chunked(*SENT[:2])[:-2], b"garbage"],
                gets=whole(DUE[:2]),
                events=2,
                says="malformed chunk footer",
            ),
            "an endless size": Play(
                [CHUNKED, chunked(*SENT[:2]), b"f" * 24 + b"\r\n"],
                gets=whole(DUE[:2]),
                events=2,
                says="illegal chunk header",
            ),
        },
        Fault(
            "finish-waits",
            "the provider breaks off while the finish reason waits",
            "all of it, with the finish reason, then a break-off",
            "`upstream-broke`",
        ): {
            "reset": Play(
                [CHUNKED, chunked(*SENT[:4]), SEEN, RESET],
                gets=whole(DUE[:4]),
                events=4,
            )
        },
        Fault(
            "after-done",
            "the provider resets or closes after `[DONE]`, before the answer's end",
            "all of it, then a break-off",
            "`upstream-broke`",
        ): {
            "reset": Play(
                [CHUNKED, chunked(*SENT), SEEN, RESET], gets=whole(DUE), events=5
            ),
            "close": Play([CHUNKED, chunked(*SENT), CUT], gets=whole(DUE), events=5),
            "reset after two": Play(
                [CHUNKED, chunked(*SENT, SENT[-1]), SEEN, RESET],
                gets=whole(DUE),
                events=6,
            ),
        },
        Fault(
            "never-closes",
            "the provider falls silent, before or after `[DONE]`",
            "what has arrived; the answer stays open until a side disconnects",
            "`client-left`, once it does",
        ): {
            "in the middle": Play(
                [CHUNKED, chunked(*SENT[:2], HALF), SEEN, 1.0],
                gets=whole(DUE[:2]),
                ends="open",
                events=2,
            ),
            "after [DONE]": Play(
                [CHUNKED, chunked(*SENT), SEEN, 1.0],
                gets=whole(DUE),
                ends="open",
                events=5,
            ),
            "its length is not reached": Play(
                [head(f"content-length: {LENGTH + 1}"), *SENT, SEEN, 1.0],
                gets=whole(DUE),
                ends="open",
                events=5,
            ),
        },
        Fault(
            "slow",
            "the provider sends a byte a second",
            "every event as soon as it is complete",
            "`complete`",
        ): {
            "a byte a second": Play(
                [
                    *(CHUNKED, chunked(SENT[0], SENT[1][:NAMED])),
                    *(1.0, chunked(SENT[1][NAMED : NAMED + 1])),
                    *(1.0, chunked(SENT[1][NAMED + 1 : -1])),
                    *(1.0, chunked(SENT[1][-1:], *SENT[2:]), END),
                ],
                gets=whole(DUE),
                ends="clean",
                events=5,
            )
        },
        Fault(
            "length-too-long",
            "the provider sends less than its `content-length`, and closes",
            "all that arrived, then a break-off",
            "`upstream-broke`",
        ): {
            "close": Play(
                [head("content-length: 100000"), *SENT, CUT],
                gets=whole(DUE),
                events=5,
            )
        },
        Fault(
            "length-too-short",
            "the provider sends more than its `content-length`, or an empty chunk in the "
            "middle",
            "what stands before that, as HTTP demands; no `[DONE]`",
            "`complete`; mitmproxy logs the rest",
        ): {
            "in an event": Play(
                [
                    head(f"content-length: {len(whole(SENT[:2])) + len(HALF)}"),
                    *SENT,
                ],
                gets=whole(DUE[:2]) + HALF,
                ends="clean",
                events=3,
                says="Unexpected data from server",
            ),
            "empty chunk": Play(
                [CHUNKED, chunked(*SENT[:2], b"", *SENT[2:]), END],
                gets=whole(DUE[:2]),
                ends="clean",
                events=2,
                says="Unexpected data from server",
            ),
        },
        Fault(
            "odd-http",
            "the provider sends chunk extensions, or 1 MB of headers",
            "the answer",
            "`complete`",
        ): {
            "extensions": Play(
                [
                    CHUNKED,
                    *(b'%x;n="v;w"\r\n%s\r\n' % (len(each), each) for each in SENT),
                    b"0;last\r\n\r\n",
                ],
                gets=whole(DUE),
                ends="clean",
                events=5,
            ),
            "headers": Play(
                [
                    head(
                        "transfer-encoding: chunked",
                        *(f"x-{number}: {'a' * 500}" for number in range(2000)),
                    ),
                    chunked(*SENT),
                    END,
                ],
                gets=whole(DUE),
                ends="clean",
                events=5,
            ),
        },
        Fault(
            "trailers",
            "the provider sends HTTP/1 trailers",
            "all of it; mitmproxy 12 fails at them, and the answer stays open until "
            "the client disconnects",
            "`client-left`; `mitmproxy has crashed!`",
        ): {
            "one": Play(
                [CHUNKED, chunked(*SENT), b"0\r\nx-brook: 1\r\n\r\n", SEEN, 1.0],
                gets=whole(DUE),
                ends="open",
                events=5,
                says="HTTP trailers are not implemented yet",
                bugs=2,
            )
        },
        Fault(
            "corrupt-gzip",
            "the provider sends gzip that turns out corrupt",
            "what arrived before, then a break-off",
            "`upstream-broke`, and a line with the reason",
        ): {
            "in the middle": Play(
                [ZIPPED, chunked(*GZIP[:2], b"\xff" * 64), SEEN],
                gets=whole(DUE[:2]),
                events=2,
                says="the compressed body is corrupt",
            ),
            "no gzip at all": Play(
                [ZIPPED, chunked(*SENT), END], says="the compressed body is corrupt"
            ),
            "at once, and goes on": Play(
                [
                    ZIPPED + chunked(whole(GZIP[:2]) + b"\xff" * 64, b"\xff" * 300_000),
                    SEEN,
                    1.0,
                ],
                gets=whole(DUE[:2]),
                events=2,
                says="the compressed body is corrupt",
            ),
        },
        Fault(
            "gzip-garbage",
            "the provider sends garbage after a whole gzip body",
            "all of it, and nothing of the garbage",
            "`complete`",
        ): {
            "with the last bytes": Play(
                [ZIPPED, chunked(whole(GZIP) + b"garbage"), END],
                gets=whole(DUE),
                ends="clean",
                events=5,
            ),
            "by itself": Play(
                [ZIPPED, chunked(*GZIP), SEEN, chunked(b"garbage"), END],
                gets=whole(DUE),
                ends="clean",
                events=5,
            ),
        },
        Fault(
            "gzip-short",
            "the provider sends gzip without its end, and ends the answer",
            "what arrived, a half event too; no `[DONE]`",
            "`complete`",
        ): {
            "in an event": Play(
                [ZIPPED, chunked(*GZIP[:2], zipped([*SENT[:2], HALF])[2]), END],
                gets=whole(DUE[:2]) + HALF,
                ends="clean",
                events=3,
            )
        },
        Fault(
            "encoding-unknown",
            "the provider sends an unknown encoding, or names one twice",
            "what the provider sends, untouched and without delay",
            "`complete`, nothing counted, and a line that names the encoding",
        ): {
            name: Play(
                [
                    head("transfer-encoding: chunked", *fields),
                    *(chunked(GZIP[0]), SEEN, chunked(*GZIP[1:]), END),
                ],
                gets=whole(GZIP),
                ends="clean",
                first=GZIP[0],
                counted=False,
                says=f"an encoding that is not undone ({encoding})",
            )
            for name, fields, encoding in (
                ("unknown", ["content-encoding: compress"], "compress"),
                ("twice", ["content-encoding: gzip"] * 2, "gzip, gzip"),
                ("listed", ["content-encoding: gzip, compress"], "gzip, compress"),
            )
        },
    }
)
def test_what_came_whole_arrives_and_nothing_is_made_up(
    reverse: Stage, play: Play
) -> None:
    act(reverse, play)


@fault(
    "after-the-end",
    happens="the provider resets the connection after the answer's end",
    client="the answer; the client's connection takes the next request",
    log="`complete`",
)
def test_reset_after_the_end_is_nobodys_business(reverse: Stage) -> None:
    # A reset throws away what was not read: the answer is read first.
    gate = threading.Event()
    parts = CHUNKED, chunked(*SENT), END, gate, RESET
    script = reverse.provider.script(*parts, framing="raw")
    with reverse.bystander(), reverse.client() as client:
        assert client.post(script.path, ASKED).rest() == whole(DUE)
        gate.set()
        _, port, *_ = client.socket.getsockname()
        reverse.mitmdump.wait_for(f":{port}] server disconnect")
        again = reverse.provider.script(*SENT)
        assert client.post(again.path, ASKED).rest() == whole(DUE)
        assert reverse.mitmdump.records(script)[-1]["end"] == "complete"


@fault(
    "interim",
    happens="the provider sends a 1xx before its answer, by HTTP/1",
    client="the 1xx alone: mitmproxy 12 takes it for the answer",
    log="`complete`, status 1xx; mitmproxy logs the rest",
)
def test_interim_answer_is_taken_for_the_answer(reverse: Stage) -> None:
    interim = b"HTTP/1.1 103 Early Hints\r\nlink: </brook>\r\n\r\n"
    script = reverse.provider.script(
        interim, CHUNKED, chunked(*SENT), END, framing="raw"
    )
    with reverse.bystander():
        with reverse.client() as client:
            assert client.post(script.path, ASKED).status == 103
            reverse.mitmdump.wait_for("Unexpected data from server: b'HTTP/1.1 200 OK")
        *_, flow = reverse.mitmdump.records(script)
        assert (flow["end"], flow["status"], flow["bytes_out"]) == ("complete", 103, 0)


@fault(
    "broken-body",
    happens="the provider breaks off a JSON body",
    client="502 in OpenAI's form: nothing had been sent",
    log="`upstream-broke`, status 502",
)
def test_body_that_breaks_off_is_a_gateway_error(reverse: Stage) -> None:
    body = b'{"choices":'
    script = reverse.provider.script(
        head("content-length: 100"), body, CUT, framing="raw"
    )
    with reverse.bystander():
        with reverse.client() as client:
            reply = client.post(script.path, WHOLE)
            assert reply.status == 502
            message = json.loads(reply.rest())["error"]["message"]
            assert "closed the connection" in message
        *_, flow = reverse.mitmdump.records(script)
        assert (flow["end"], flow["status"]) == ("upstream-broke", 502)
