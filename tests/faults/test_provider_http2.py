"""A provider that speaks HTTP/2 and goes wrong."""

import pytest
from h2.errors import ErrorCodes

from faults.acts import (
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
from faults.play import SEEN, Play, act, zipped
from faults.stage import ASKED, DUE, HTTP1, HTTP2, SENT, Stage, whole
from faults.table import faults
from support import Break, BrokenEndError, Mitmdump, Part, Provider

HALF = SENT[2][:30]
GZIP = zipped(SENT)
ZIPPED = answer([("content-encoding", "gzip")])
BEGUN: list[Part] = [answer(), *SENT[:2]]
UNKNOWN = 99
FLOOD = [(f"x-{number}", "a" * 500) for number in range(150)]


@pytest.fixture(params=[HTTP1, HTTP2])
def stage(
    request: pytest.FixtureRequest, explicit: Mitmdump, secure: dict[str, Provider]
) -> Stage:
    """A provider with HTTP/2, and clients of both kinds."""
    return Stage(explicit, secure[HTTP2], request.param, tunnelled=True)


@faults(
    {
        "http2-no-answer": {
            "reset": Play([reset(ErrorCodes.INTERNAL_ERROR)], ends="refused"),
            "refused": Play([reset(ErrorCodes.REFUSED_STREAM)], ends="refused"),
            "goaway": Play([goaway(ErrorCodes.NO_ERROR, 0)], ends="refused"),
            "close": Play([Break.CUT], ends="refused"),
            "headers": Play([answer(FLOOD), *SENT, end], ends="refused"),
        },
        "http2-reset": {
            getattr(code, "name", "unknown code"): Play(
                [*BEGUN, HALF, SEEN, reset(code)], gets=whole(DUE[:2]), events=2
            )
            for code in (
                ErrorCodes.NO_ERROR,
                ErrorCodes.PROTOCOL_ERROR,
                ErrorCodes.INTERNAL_ERROR,
                ErrorCodes.REFUSED_STREAM,
                ErrorCodes.ENHANCE_YOUR_CALM,
                ErrorCodes.HTTP_1_1_REQUIRED,
                UNKNOWN,
            )
        },
        "http2-after-done": {
            "reset": Play(
                [answer(), *SENT, SEEN, reset(ErrorCodes.NO_ERROR)],
                gets=whole(DUE),
                ends="clean",
                events=5,
                end="complete",
            )
        },
        "http2-goaway": {
            name: Play(
                [*BEGUN, SEEN, goaway(code, last), 0.1, *SENT[2:], end],
                gets=whole(DUE[:2]),
                events=2,
                says="HTTP/2 connection closed",
            )
            for name, code, last in (
                ("graceful", ErrorCodes.NO_ERROR, None),
                ("announced", ErrorCodes.NO_ERROR, LARGEST),
                ("not known", ErrorCodes.NO_ERROR, 0),
                ("with an error", ErrorCodes.ENHANCE_YOUR_CALM, None),
            )
        },
        "http2-broken": {
            "close": Play(
                [*BEGUN, HALF, SEEN, Break.CUT], gets=whole(DUE[:2]), events=2
            ),
            "window": Play([*BEGUN, SEEN, overflow], gets=whole(DUE[:2]), events=2),
            "data on stream 0": Play(
                [*BEGUN, SEEN, nonsense],
                gets=whole(DUE[:2]),
                events=2,
                says="HTTP/2 protocol error",
            ),
            "length too long": Play(
                [answer([("content-length", "9999")]), *SENT[:2], SEEN, end],
                gets=whole(DUE[:2]),
                events=2,
                says="HTTP/2 protocol error",
            ),
            "length too short": Play(
                [
                    answer([("content-length", str(len(whole(SENT[:2]))))]),
                    *(*SENT[:2], SEEN, *SENT[2:], end),
                ],
                gets=whole(DUE[:2]),
                events=2,
                says="HTTP/2 protocol error",
            ),
        },
        "http2-corrupt-gzip": {
            name: Play(
                [ZIPPED, *GZIP[:2], SEEN, b"\xff" * 64, *more],
                gets=whole(DUE[:2]),
                events=2,
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
            "interim": Play(
                [interim(103), answer(), *SENT, end],
                gets=whole(DUE),
                ends="clean",
                events=5,
            ),
            "empty frames": Play(
                [answer(), *[b""] * 20, *SENT[:4], b"", SENT[4], *[b""] * 20, end],
                gets=whole(DUE),
                ends="clean",
                events=5,
            ),
            "goaway": Play(
                [answer(), *SENT, end, goaway(ErrorCodes.NO_ERROR)],
                gets=whole(DUE),
                ends="clean",
                events=5,
            ),
            "nothing but headers": Play([answer(ends=True)], ends="clean"),
        },
        "http2-trailers": {
            "one": Play(
                [answer(), *SENT, trailers], gets=whole(DUE), ends="clean", events=5
            )
        },
    }
)
def test_what_came_whole_arrives_and_nothing_is_made_up(
    stage: Stage, play: Play
) -> None:
    act(stage, play)


@pytest.mark.fault("http2-cancel")
def test_cancelled_stream_is_broken_off(stage: Stage) -> None:
    parts = [*BEGUN, HALF, SEEN, reset(ErrorCodes.CANCEL)]
    act(stage, Play(parts, gets=whole(DUE[:2]), events=2))
    stage.mitmdump.wait_for("the provider broke off")


@pytest.mark.fault("http2-turned-away")
@pytest.mark.parametrize("code", [ErrorCodes.CANCEL, ErrorCodes.HTTP_1_1_REQUIRED])
def test_stream_that_is_turned_away_is_a_gateway_error(
    stage: Stage, code: ErrorCodes
) -> None:
    if (stage.protocol, code) != (HTTP2, ErrorCodes.HTTP_1_1_REQUIRED):
        act(stage, Play([reset(code)], ends="refused"))
        return
    script = stage.provider.script(reset(code), framing="raw")
    with stage.bystander():
        with stage.client() as client, pytest.raises(BrokenEndError):
            client.post(script.path, ASKED)
        *_, flow = stage.mitmdump.records(script)
        assert (flow["end"], flow["status"], flow["bytes_out"]) == ("error", None, 0)
