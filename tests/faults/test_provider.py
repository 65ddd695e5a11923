"""A provider that speaks HTTP/1.1 and goes wrong."""

import json
import threading

import pytest

from faults.rig import ASKED, DUE, SENT, WHOLE, Rig, whole
from faults.scenario import (
    CHUNKED,
    SEEN,
    ZIPPED,
    Scenario,
    broken,
    complete,
    head,
    refused,
    run,
    zipped,
)
from faults.table import faults
from support import Break
from workshop.traffic.http1 import LAST_CHUNK, chunked

RESET, CUT = Break.RESET, Break.CUT
GZIP = zipped(SENT)
HALF = SENT[2][:30]
"""Half an event."""
NAMED = SENT[1].index("ü".encode()) + 1
"""Where the first event with text is cut in the middle of a character."""
LENGTH = len(whole(SENT))
BEGUN = CHUNKED + chunked(*SENT[:2])
MANY = [f"x-{number}: {'a' * 500}" for number in range(2000)]
CORRUPT = "the compressed body is corrupt"


@faults(
    {
        "no-answer": {
            "reset": refused(RESET),
            "close": refused(CUT),
            "reset in the headers": refused(CHUNKED[:40], 0.1, RESET),
            "close in the headers": refused(CHUNKED[:40], CUT),
        },
        "no-http": {
            "another protocol": refused(b"SSH-2.0-OpenSSH_9.9\r\n", CUT),
            "no status": refused(b"HTTP/1.1 fine\r\n\r\n"),
            "two lengths": refused(head("content-length: 5", "content-length: 6")),
            "length and chunked": refused(
                head("content-length: 5", "transfer-encoding: chunked"), chunked(*SENT)
            ),
        },
        "mid-event": {
            "reset": broken(BEGUN, chunked(HALF), SEEN, RESET),
            "close": broken(BEGUN, chunked(HALF), SEEN, CUT),
            "reset before the first": broken(CHUNKED, 0.1, RESET, events=0),
            "close after whole events": broken(BEGUN, chunked(SENT[2]), CUT, events=3),
        },
        "mid-utf-8": {
            "reset": broken(
                *(CHUNKED, chunked(SENT[0], SENT[1][:NAMED]), SEEN, RESET), events=1
            )
        },
        "mid-gzip": {
            "reset": broken(ZIPPED, chunked(*GZIP[:2], GZIP[2][:7]), SEEN, RESET)
        },
        "mid-chunk": {
            "after the size": broken(BEGUN, b"5a\r\n", SEEN, RESET),
            "in the size": broken(BEGUN, b"5a", SEEN, RESET),
            "garbage for a size": broken(
                BEGUN, b"garbage\r\n\r\n", says="illegal chunk header"
            ),
            "garbage after the data": broken(
                BEGUN[:-2], b"garbage", says="malformed chunk footer"
            ),
        },
        "finish-waits": {
            "reset": complete(
                *(CHUNKED, chunked(*SENT[:4]), SEEN, RESET),
                events=4,
                first=whole(DUE[:4]),
            )
        },
        "after-done": {
            "reset": complete(CHUNKED, chunked(*SENT), SEEN, RESET),
            "close": complete(CHUNKED, chunked(*SENT), CUT),
            "reset after two": complete(
                CHUNKED, chunked(*SENT, SENT[-1]), SEEN, RESET, events=6
            ),
        },
        "never-closes": {
            "in the middle": broken(BEGUN, chunked(HALF), SEEN, 1.0, ends="open"),
            "after [DONE]": complete(CHUNKED, chunked(*SENT), SEEN, 1.0),
            "its length is not reached": complete(
                head(f"content-length: {LENGTH + 1}"), *SENT, SEEN, 1.0
            ),
        },
        "slow": {
            "byte by byte": complete(
                *(CHUNKED, chunked(SENT[0], SENT[1][:NAMED])),
                *(0.3, chunked(SENT[1][NAMED : NAMED + 1])),
                *(0.3, chunked(SENT[1][NAMED + 1 : -1])),
                *(0.3, chunked(SENT[1][-1:], *SENT[2:]), LAST_CHUNK),
            )
        },
        "length-too-long": {
            "close": broken(head("content-length: 100000"), *SENT[:2], CUT),
            "close after [DONE]": complete(head("content-length: 100000"), *SENT, CUT),
        },
        "length-too-short": {
            "in an event": Scenario(
                [head(f"content-length: {len(whole(SENT[:2])) + len(HALF)}"), *SENT],
                gets=whole(DUE[:2]) + HALF,
                ends="clean",
                events=3,
                says="Unexpected data from server",
            ),
            "empty chunk": broken(
                *(CHUNKED, chunked(*SENT[:2], b"", *SENT[2:]), LAST_CHUNK),
                ends="clean",
                says="Unexpected data from server",
            ),
        },
        "odd-http": {
            "extensions": complete(
                CHUNKED,
                *(b'%x;n="v;w"\r\n%s\r\n' % (len(each), each) for each in SENT),
                b"0;last\r\n\r\n",
            ),
            "headers": complete(
                head("transfer-encoding: chunked", *MANY), chunked(*SENT), LAST_CHUNK
            ),
        },
        "trailers": {
            "one": complete(
                *(CHUNKED, chunked(*SENT), b"0\r\nx-brook: 1\r\n\r\n", SEEN, 1.0),
                says="HTTP trailers are not implemented yet",
                bugs=2,
            )
        },
        "corrupt-gzip": {
            "in the middle": broken(
                ZIPPED, chunked(*GZIP[:2], b"\xff" * 64), SEEN, says=CORRUPT
            ),
            "no gzip at all": broken(
                ZIPPED, chunked(*SENT), LAST_CHUNK, events=0, says=CORRUPT
            ),
            "at once, and goes on": broken(
                *(ZIPPED + chunked(whole(GZIP[:2]) + b"\xff" * 64, b"\xff" * 300_000),),
                *(SEEN, 1.0),
                says=CORRUPT,
            ),
        },
        "gzip-garbage": {
            "with the last bytes": complete(
                ZIPPED, chunked(whole(GZIP) + b"garbage"), LAST_CHUNK
            ),
            "by itself": complete(
                ZIPPED, chunked(*GZIP), SEEN, chunked(b"garbage"), LAST_CHUNK
            ),
        },
        "gzip-short": {
            "in an event": Scenario(
                [ZIPPED, chunked(*GZIP[:2], zipped([*SENT[:2], HALF])[2]), LAST_CHUNK],
                gets=whole(DUE[:2]) + HALF,
                ends="clean",
                events=3,
            )
        },
        "encoding-unknown": {
            name: Scenario(
                [
                    head("transfer-encoding: chunked", *fields),
                    *(chunked(GZIP[0]), SEEN, chunked(*GZIP[1:]), LAST_CHUNK),
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
            )
        },
    }
)
def test_what_came_whole_arrives_and_no_more(reverse: Rig, scenario: Scenario) -> None:
    run(reverse, scenario)


@pytest.mark.fault("after-the-end")
def test_reset_after_the_end_is_nobodys_business(reverse: Rig) -> None:
    # A reset throws away what was not read: the answer is read first.
    gate = threading.Event()
    parts = CHUNKED, chunked(*SENT), LAST_CHUNK, gate, RESET
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
def test_interim_answer_is_taken_for_the_answer(reverse: Rig) -> None:
    interim = b"HTTP/1.1 103 Early Hints\r\nlink: </brook>\r\n\r\n"
    script = reverse.provider.script(
        interim, CHUNKED, chunked(*SENT), LAST_CHUNK, framing="raw"
    )
    with reverse.bystander():
        with reverse.client() as client:
            assert client.post(script.path, ASKED).status == 103
            reverse.mitmdump.wait_for("Unexpected data from server: b'HTTP/1.1 200 OK")
        *_, flow = reverse.mitmdump.records(script)
        assert (flow["end"], flow["status"], flow["bytes_out"]) == ("complete", 103, 0)


@pytest.mark.fault("broken-body")
def test_body_that_breaks_off_is_a_gateway_error(reverse: Rig) -> None:
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
