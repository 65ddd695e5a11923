"""A large body is repaired in a thread; meanwhile its client leaves, or mitmdump ends."""

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from faults.held import SCRIPT, Held
from faults.rig import HTTP1, HTTP2, WHOLE, Rig
from support import Http1Client, Http1Reply, Http2Reply, Mitmdump, Provider, Script

type Start = Callable[..., Rig]

CALLS = 2_000
BODY = json.dumps({
    "id": "a",
    "object": "chat.completion",
    "created": 1,
    "model": "acme-1",
    "choices": [
        {
            "index": 0,
            "message": {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {"id": "", "type": None, "function": {"name": f"f{at}"}}
                    for at in range(CALLS)
                ],
            },
            "finish_reason": None,
        }
    ],
}).encode()  # fmt: skip


def under_way(rig: Rig) -> Script:
    """Return the script of a large body that begins to be repaired."""
    return rig.provider.script(
        BODY, headers={"content-type": "application/json"}, framing="length"
    )


@pytest.mark.fault("large-body")
@pytest.mark.parametrize("client_speaks", [HTTP1, HTTP2])
def test_whole_body_is_repaired(
    holding: Mitmdump, secure: dict[str, Provider], held: Held, client_speaks: str
) -> None:
    rig = Rig(holding, secure[HTTP1], client_speaks, tunnelled=True)
    script = under_way(rig)
    with rig.bystander(), rig.client() as client:
        stream = client.send(script.path, held.asked(WHOLE))
        held.wait(holding, "repair")
        rig.works()
        held.go_on()
        if isinstance(client, Http1Client):
            got = json.loads(Http1Reply(client).rest())
        else:
            assert stream is not None
            got = json.loads(Http2Reply(client, stream).rest())
        calls = got["choices"][0]["message"]["tool_calls"]
        assert [call["function"]["name"] for call in calls] == [
            f"f{at}" for at in range(CALLS)
        ]
        assert {call["type"] for call in calls} == {"function"}
        assert holding.records(script)[-1]["end"] == "complete"


@pytest.mark.fault("large-body-leaves")
@pytest.mark.parametrize("client_speaks", [HTTP1, HTTP2])
def test_client_leaves_meanwhile(
    holding: Mitmdump, secure: dict[str, Provider], held: Held, client_speaks: str
) -> None:
    rig = Rig(holding, secure[HTTP1], client_speaks, tunnelled=True)
    script = under_way(rig)
    with rig.bystander():
        with rig.client() as client:
            _, port, *_ = client.socket.getsockname()
            client.send(script.path, held.asked(WHOLE))
            held.wait(holding, "repair")
        holding.wait_for(f":{port}] client disconnect")
        held.go_on()
        *_, flow = holding.records(script)
        assert (flow["end"], flow["status"], flow["bytes_out"]) == (
            "client-left",
            None,
            0,
        )


@pytest.mark.fault("large-body-reload")
def test_addon_is_reloaded_meanwhile(start: Start, addon: Path, held: Held) -> None:
    rig = start(addon=addon, scripts=[SCRIPT])
    script = under_way(rig)
    with rig.client() as client:
        with rig.bystander():
            client.send(script.path, held.asked(WHOLE))
            held.wait(rig.mitmdump, "repair")
        # Nothing else keeps the old code's log open from here on.
        rig.mitmdump.reload()
        rig.works()
        held.go_on()
        assert isinstance(client, Http1Client)
        got = json.loads(Http1Reply(client).rest())
        assert len(got["choices"][0]["message"]["tool_calls"]) == CALLS
        *_, flow = rig.mitmdump.records(script)
        assert flow["end"] == "complete"


@pytest.mark.fault("large-body-end")
@pytest.mark.alone("mitmdump itself ends")
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
def test_mitmdump_ends_meanwhile(start: Start, held: Held) -> None:
    rig = start(scripts=[SCRIPT])
    script = under_way(rig)
    with rig.client() as client:
        client.send(script.path, held.asked(WHOLE))
        held.wait(rig.mitmdump, "repair")
        os.kill(rig.mitmdump.pid, signal.SIGTERM)
        (flow,) = rig.mitmdump.records(script)
        held.go_on()
        rig.mitmdump.ended()
    assert (flow["end"], flow["changed"]) == ("upstream-broke", 0)
    assert rig.mitmdump.records(script) == [flow]
    # Python 3.12.1 itself logs that a task was cancelled.
    assert "/llm_normalize/" not in rig.mitmdump.log
