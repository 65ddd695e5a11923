"""A provider that speaks HTTP/1.1 and goes wrong."""

import json
import threading

import pytest

from faults.play import CHUNKED, END, SEEN, ZIPPED, Play, act, chunked, head, zipped
from faults.stage import ASKED, DUE, SENT, WHOLE, Stage, whole
from faults.table import faults
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
        "no-answer": {
            "reset": Play([RESET], ends="refused"),
            "close": Play([CUT], ends="refused"),
            "reset in the headers": Play([CHUNKED[:40], 0.1, RESET], ends="refused"),
            "close in the headers": Play([CHUNKED[:40], CUT], ends="refused"),
        },
        "no-http": {
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
        "mid-event": {
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
        "mid-utf-8": {
            "reset": Play(
                [CHUNKED, chunked(SENT[0], SENT[1][:NAMED]), SEEN, RESET],
                gets=DUE[0],
                events=1,
            )
        },
        "mid-gzip": {
            "reset": Play(
                [ZIPPED, chunked(*GZIP[:2], GZIP[2][:7]), SEEN, RESET],
                gets=whole(DUE[:2]),
                events=2,
            )
        },
        "mid-chunk": {
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
        "finish-waits": {
            "reset": Play(
                [CHUNKED, chunked(*SENT[:4]), SEEN, RESET],
                gets=whole(DUE),
                ends="clean",
                events=4,
                first=whole(DUE[:4]),
            )
        },
        "after-done": {
            "reset": Play(
                [CHUNKED, chunked(*SENT), SEEN, RESET],
                gets=whole(DUE),
                ends="clean",
                events=5,
            ),
            "close": Play(
                [CHUNKED, chunked(*SENT), CUT],
                gets=whole(DUE),
                ends="clean",
                events=5,
            ),
            "reset after two": Play(
                [CHUNKED, chunked(*SENT, SENT[-1]), SEEN, RESET],
                gets=whole(DUE),
                ends="clean",
                events=6,
                end="complete",
            ),
        },
        "never-closes": {
            "in the middle": Play(
                [CHUNKED, chunked(*SENT[:2], HALF), SEEN, 1.0],
                gets=whole(DUE[:2]),
                ends="open",
                events=2,
            ),
            "after [DONE]": Play(
                [CHUNKED, chunked(*SENT), SEEN, 1.0],
                gets=whole(DUE),
                ends="clean",
                events=5,
                end="complete",
            ),
            "its length is not reached": Play(
                [head(f"content-length: {LENGTH + 1}"), *SENT, SEEN, 1.0],
                gets=whole(DUE),
                ends="clean",
                events=5,
                end="complete",
            ),
        },
        "slow": {
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
        "length-too-long": {
            "close": Play(
                [head("content-length: 100000"), *SENT[:2], CUT],
                gets=whole(DUE[:2]),
                events=2,
            ),
            "close after [DONE]": Play(
                [head("content-length: 100000"), *SENT, CUT],
                gets=whole(DUE),
                ends="clean",
                events=5,
            ),
            "close before the finish": Play(
                [head("content-length: 100000"), *SENT[:3], CUT],
                gets=whole(DUE[:3]),
                events=3,
            ),
        },
        "length-too-short": {
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
        "odd-http": {
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
        "trailers": {
            "one": Play(
                [CHUNKED, chunked(*SENT), b"0\r\nx-brook: 1\r\n\r\n", SEEN, 1.0],
                gets=whole(DUE),
                ends="clean",
                events=5,
                end="complete",
                says="HTTP trailers are not implemented yet",
                bugs=2,
            )
        },
        "corrupt-gzip": {
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
        "gzip-garbage": {
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
        "gzip-short": {
            "in an event": Play(
                [ZIPPED, chunked(*GZIP[:2], zipped([*SENT[:2], HALF])[2]), END],
                gets=whole(DUE[:2]) + HALF,
                ends="clean",
                events=3,
            )
        },
        "encoding-unknown": {
            name: Play(
                [
                    head("transfer-encoding: chunked", *fields),
                    *(chunked(GZIP[0]), SEEN, chunked(*GZIP[1:]), END),
                ],
                gets=whole(GZIP),
                ends="clean",
                first=GZIP[0],
                counted=False,
                says=f"an unsupported encoding ({encoding})",
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


@pytest.mark.fault("after-the-end")
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


@pytest.mark.fault("interim")
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


@pytest.mark.fault("broken-body")
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
