"""A provider that speaks HTTP/2 and goes wrong."""

import pytest
from h2.errors import ErrorCodes

from faults.http2_frames import (
    LARGEST,
    answer,
    end,
    goaway,
    interim,
    nonsense,
    overflow,
    reset,
    trailers,
)
from faults.rig import ASKED, HTTP1, HTTP2, SENT, Rig, whole
from faults.scenario import SEEN, Scenario, broken, complete, refused, run, zipped
from faults.table import faults
from support import Break, BrokenEndError, Mitmdump, Part, Provider

HALF = SENT[2][:30]
GZIP = zipped(SENT)
ZIPPED = answer([("content-encoding", "gzip")])
BEGUN: list[Part] = [answer(), *SENT[:2]]
UNKNOWN = 99
PROTOCOL_ERROR = "HTTP/2 protocol error"
FLOOD = [(f"x-{number}", "a" * 500) for number in range(150)]


@pytest.fixture(params=[HTTP1, HTTP2])
def rig(
    request: pytest.FixtureRequest, explicit: Mitmdump, secure: dict[str, Provider]
) -> Rig:
    """A provider with HTTP/2, and clients of both kinds."""
    return Rig(explicit, secure[HTTP2], request.param, tunnelled=True)


@faults(
    {
        "http2-no-answer": {
            "reset": refused(reset(ErrorCodes.INTERNAL_ERROR)),
            "refused": refused(reset(ErrorCodes.REFUSED_STREAM)),
            "goaway": refused(goaway(ErrorCodes.NO_ERROR, 0)),
            "close": refused(Break.CUT),
            "headers": refused(answer(FLOOD), *SENT, end),
        },
        "http2-reset": {
            getattr(code, "name", "unknown code"): broken(
                *BEGUN, HALF, SEEN, reset(code)
            )
            for code in (
                ErrorCodes.NO_ERROR,
                ErrorCodes.INTERNAL_ERROR,
                ErrorCodes.REFUSED_STREAM,
                ErrorCodes.HTTP_1_1_REQUIRED,
                UNKNOWN,
            )
        },
        "http2-after-done": {
            "reset": complete(answer(), *SENT, SEEN, reset(ErrorCodes.NO_ERROR))
        },
        "http2-goaway": {
            name: broken(
                *(*BEGUN, SEEN, goaway(code, last), 0.1, *SENT[2:], end),
                says="HTTP/2 connection closed",
            )
            for name, code, last in (
                ("graceful", ErrorCodes.NO_ERROR, None),
                ("announced", ErrorCodes.NO_ERROR, LARGEST),
                ("with an error", ErrorCodes.ENHANCE_YOUR_CALM, None),
            )
        },
        "http2-broken": {
            "close": broken(*BEGUN, HALF, SEEN, Break.CUT),
            "window": broken(*BEGUN, SEEN, overflow),
            "data on stream 0": broken(*BEGUN, SEEN, nonsense, says=PROTOCOL_ERROR),
            "length too long": broken(
                *(answer([("content-length", "9999")]), *SENT[:2], SEEN, end),
                says=PROTOCOL_ERROR,
            ),
            "length too short": broken(
                answer([("content-length", str(len(whole(SENT[:2]))))]),
                *(*SENT[:2], SEEN, *SENT[2:], end),
                says=PROTOCOL_ERROR,
            ),
        },
        "http2-corrupt-gzip": {
            name: broken(
                *(ZIPPED, *GZIP[:2], SEEN, b"\xff" * 64, *more),
                says="the compressed body is corrupt",
            )
            for name, more in (
                ("stalls", []),
                ("goes on", [*[b"\xff" * 64, 0.01] * 20, end]),
                ("ends", [end]),
                ("is reset", [reset(ErrorCodes.INTERNAL_ERROR)]),
                ("closes", [Break.CUT]),
            )
        },
        "http2-odd": {
            "interim": complete(interim(103), answer(), *SENT, end),
            "empty frames": complete(
                answer(), *[b""] * 20, *SENT[:4], b"", SENT[4], *[b""] * 20, end
            ),
            "goaway": complete(answer(), *SENT, end, goaway(ErrorCodes.NO_ERROR)),
            "nothing but headers": Scenario([answer(ends=True)], ends="clean"),
        },
        "http2-trailers": {"one": complete(answer(), *SENT, trailers)},
    }
)
def test_what_came_whole_arrives_and_no_more(rig: Rig, scenario: Scenario) -> None:
    run(rig, scenario)


@pytest.mark.fault("http2-cancel")
def test_cancelled_stream_is_broken_off(rig: Rig) -> None:
    parts = [*BEGUN, HALF, SEEN, reset(ErrorCodes.CANCEL)]
    run(rig, broken(*parts))
    rig.mitmdump.wait_for("the provider broke off")


@pytest.mark.fault("http2-turned-away")
@pytest.mark.parametrize("code", [ErrorCodes.CANCEL, ErrorCodes.HTTP_1_1_REQUIRED])
def test_refused_stream_is_a_gateway_error(rig: Rig, code: ErrorCodes) -> None:
    if (rig.protocol, code) != (HTTP2, ErrorCodes.HTTP_1_1_REQUIRED):
        run(rig, refused(reset(code)))
        return
    script = rig.provider.script(reset(code), framing="raw")
    with rig.bystander():
        with rig.client() as client, pytest.raises(BrokenEndError):
            client.post(script.path, ASKED)
        *_, flow = rig.mitmdump.records(script)
        assert (flow["end"], flow["status"], flow["bytes_out"]) == ("error", None, 0)
