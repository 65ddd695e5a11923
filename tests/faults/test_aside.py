"""A large body is repaired in a thread; meanwhile its client leaves, or mitmdump ends."""

import json
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from faults.stage import HTTP1, HTTP2, WHOLE, Stage
from faults.table import fault
from faults.test_changes import reload
from support import ADDON, Http1Client, Http1Reply, Mitmdump, Provider, Script

type Start = Callable[..., Stage]

CALLS = 6_000
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


def under_way(stage: Stage) -> Script:
    """Return the script of a large body that begins to be repaired."""
    return stage.provider.script(
        BODY, headers={"content-type": "application/json"}, framing="length"
    )


def wait_for(script: Script) -> None:
    """Wait until the body has been sent, and its repair has begun."""
    assert script.asked.wait(5)
    time.sleep(0.2)


@fault(
    "large-body",
    happens="a large body takes long to repair",
    client="the repaired body; other answers pass meanwhile",
    log="`complete`",
)
def test_whole_body_is_repaired(reverse: Stage) -> None:
    with reverse.bystander():
        got = json.loads(reverse.ask(under_way(reverse), WHOLE))
        calls = got["choices"][0]["message"]["tool_calls"]
        assert [call["function"]["name"] for call in calls] == [
            f"f{at}" for at in range(CALLS)
        ]
        assert {call["type"] for call in calls} == {"function"}


@fault(
    "large-body-leaves",
    happens="the client disconnects while a large body is repaired",
    client="nothing",
    log="`client-left`, or `complete`",
)
@pytest.mark.parametrize("client_speaks", [HTTP1, HTTP2])
def test_client_leaves_meanwhile(
    explicit: Mitmdump, secure: dict[str, Provider], client_speaks: str
) -> None:
    stage = Stage(explicit, secure[HTTP1], client_speaks, tunnelled=True)
    script = under_way(stage)
    with stage.bystander():
        with stage.client() as client:
            client.send(script.path, WHOLE)
            wait_for(script)
        *_, flow = explicit.records(script)
        assert flow["end"] in ("complete", "client-left")


@fault(
    "large-body-reload",
    happens="the addon is reloaded while a large body is repaired",
    client="the body, repaired by the old code",
    log="`complete`",
)
def test_addon_is_reloaded_meanwhile(start: Start, tmp_path: Path) -> None:
    copy = tmp_path / "addon"
    shutil.copytree(ADDON, copy, ignore=shutil.ignore_patterns("__pycache__"))
    stage = start(addon=copy)
    script = under_way(stage)
    with stage.bystander(), stage.client() as client:
        client.send(script.path, WHOLE)
        wait_for(script)
        reload(stage, copy)
        assert isinstance(client, Http1Client)
        got = json.loads(Http1Reply(client).rest())
        assert len(got["choices"][0]["message"]["tool_calls"]) == CALLS
        *_, flow = stage.mitmdump.records(script)
        assert flow["end"] == "complete"


@fault(
    "large-body-end",
    happens="mitmdump ends while a large body is repaired",
    client="nothing, or the body",
    log="the record of the answer, once the repair is done",
)
@pytest.mark.alone("mitmdump itself ends")
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
def test_mitmdump_ends_meanwhile(start: Start) -> None:
    stage = start()
    script = under_way(stage)
    with stage.client() as client:
        client.send(script.path, WHOLE)
        wait_for(script)
        os.kill(stage.mitmdump.process, signal.SIGTERM)
        stage.mitmdump.stop()
    # Python 3.12.1 itself logs that a task was cancelled.
    assert "/llm_normalize/" not in stage.mitmdump.log
    assert stage.mitmdump.records(script)[-1]["type"] == "flow"
