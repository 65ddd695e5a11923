"""Answers of a provider that goes wrong, as data, and how each is run."""

import json
import re
import threading
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from faults.rig import ASKED, DUE, Rig, whole
from support import Http2Client, Part, Script

SEEN = threading.Event()
"""Stands for the moment at which the client has got what has been sent."""

type Ends = Literal["clean", "broken", "open", "refused"]

_END: dict[Ends, str] = {
    "clean": "complete",
    "broken": "upstream-broke",
    "open": "client-left",
    "refused": "error",
}


@dataclass(frozen=True)
class Scenario:
    """One way in which a provider goes wrong, and what must come of it.

    Attributes:
        parts: What it sends: the bytes of the connection (HTTP/2: DATA and acts).
        gets: The body that the client gets, to the letter.
        ends: How the answer ends for the client: as HTTP has it, broken off, not at
            all until the client leaves, or not begun (the proxy answers 502).
        events: How many the flow record counts.
        says: What mitmdump's log must say.
        bugs: How many bugs of mitmproxy its log tells of.
        first: What has to be there at `SEEN`, if not all that the client gets.
        counted: Whether the flow record knows of the bytes.
    """

    parts: Sequence[Part]
    gets: bytes = b""
    ends: Ends = "broken"
    events: int = 0
    says: str = ""
    bugs: int = 0
    first: bytes = b""
    counted: bool = True


def refused(*parts: Part) -> Scenario:
    """Return a scenario in which no answer begins."""
    return Scenario(parts, ends="refused")


def broken(*parts: Part, events: int = 2, **more: Any) -> Scenario:
    """Return a scenario that breaks off, some whole events having come."""
    return Scenario(parts, whole(DUE[:events]), events=events, **more)


def complete(*parts: Part, events: int = 5, **more: Any) -> Scenario:
    """Return a scenario in which all that is due comes, and ends well."""
    return Scenario(parts, whole(DUE), "clean", events, **more)


def run(rig: Rig, scenario: Scenario) -> None:
    """Let it happen beside a bystander, and check every effect."""
    seen = threading.Event()
    parts = [seen if part is SEEN else part for part in scenario.parts]
    script = rig.provider.script(*parts, framing="raw")
    try:
        with rig.bystander(bugs=scenario.bugs):
            _watch(rig, scenario, script, seen)
            _recorded(rig, scenario, script)
            if scenario.says:
                rig.mitmdump.wait_for(scenario.says)
    finally:
        seen.set()


def _watch(rig: Rig, scenario: Scenario, script: Script, seen: threading.Event) -> None:
    with rig.client() as client:
        reply = client.post(script.path, ASKED)
        if scenario.ends == "refused":
            assert reply.status == 502
            assert reply.headers["content-type"] == "application/json"
            error = json.loads(reply.rest())["error"]
            assert error["type"] == "server_error"
            assert re.match(r"No answer from [\w.:]+: it ", error["message"])
            if reply.headers.get("connection") != "close":
                _goes_on(rig, client, reply)
            return
        assert reply.status == 200
        if scenario.gets:
            reply.until(scenario.first or scenario.gets)
        seen.set()
        if scenario.ends == "open":
            client.socket.settimeout(0.3)
            try:
                piece = reply.next_part()
            except TimeoutError:
                assert reply.body == scenario.gets
            else:
                raise AssertionError(f"more came: {piece!r}")
        elif scenario.ends == "broken":
            assert reply.broken() == scenario.gets
        else:
            assert reply.rest() == scenario.gets
            _goes_on(rig, client, reply)


def _goes_on(rig: Rig, client: Any, reply: Any) -> None:
    """See that the connection of a clean answer serves another request."""
    if isinstance(client, Http2Client) or reply.framing != "close":
        again = rig.provider.script(b"data: [DONE]\n\n")
        assert client.post(again.path, ASKED).rest() == b"data: [DONE]\n\n"


def _recorded(rig: Rig, scenario: Scenario, script: Script) -> None:
    *pairs, flow = rig.mitmdump.records(script)
    assert flow["end"] == _END[scenario.ends]
    assert flow["status"] == (502 if scenario.ends == "refused" else 200)
    assert flow["events"] == scenario.events
    assert flow["bytes_out"] == (len(scenario.gets) if scenario.counted else 0)
    assert flow["changed"] == sum(pair["before"] is not None for pair in pairs)
    for pair in pairs:
        for text in pair["after"]:
            assert text.encode() in scenario.gets, "the log has what the client has not"


# -- the bytes of an HTTP/1 answer -----------------------------------------------------


def head(*fields: str, status: str = "200 OK") -> bytes:
    """Return the head of an answer that is an event stream."""
    lines = [f"HTTP/1.1 {status}", "content-type: text/event-stream", *fields, "", ""]
    return "\r\n".join(lines).encode()


CHUNKED = head("transfer-encoding: chunked")


def zipped(events: Sequence[bytes]) -> list[bytes]:
    """Return *events* as gzip, each flushed, and the end of it as the last piece."""
    deflate = zlib.compressobj(wbits=31)
    flush = zlib.Z_SYNC_FLUSH
    pieces = [deflate.compress(event) + deflate.flush(flush) for event in events]
    return [*pieces, deflate.flush()]


ZIPPED = head("transfer-encoding: chunked", "content-encoding: gzip")
