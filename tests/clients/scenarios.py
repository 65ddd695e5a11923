"""What agents meet in a day, as the steps of a `Session`."""

import json
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clients.families.shapes import Json
from clients.session import HELPED, HELPER, Call, Step, names

TURNS = 25
IMAGE = 14
"""The step of a long session in which an image is read."""
_COMMANDS = {"Bash": "command", "exec_command": "cmd"}
_READERS = {"Read": "file_path", "view_image": "path"}
_PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAA"
    "AABJRU5ErkJggg=="
)
_NOT_READ = "An image was here"
LARGE = "head -c 200000 /dev/zero | tr '\\0' x"
LAMPS = [sys.executable, str(Path(__file__).with_name("mcp_server.py"))]


def run(*commands: str, expects: Sequence[str] = (), stop: Path | None = None) -> Step:
    """Return a step that runs commands, each in a call, and finds what they print."""

    def calls(asked: Json) -> list[Call]:
        (tool,) = _COMMANDS.keys() & {*names(asked)}
        return [(tool, {_COMMANDS[tool]: each}) for each in commands]

    printed = [re.escape(each.split(";")[0].removeprefix("echo ")) for each in commands]
    return Step(calls, expects or printed, stop=stop)


def see(asked: Json) -> list[Call]:
    """Read the image in the folder that an earlier call has printed."""
    (reader,) = _READERS.keys() & {*names(asked)}
    (folder,) = {*re.findall(r"in=(/[\w./-]+)", str(asked["messages"]))}
    return [(reader, {_READERS[reader]: f"{folder}/a.png"})]


DRAW = run(f"echo heron-6; printf {_PNG} | base64 -d > a.png; echo in=$PWD")
SEE = Step(see, [_NOT_READ])


def mark(step: int, place: int = 0) -> str:
    """Return the word that a call of a long session prints."""
    return f"word-{step:02}-{place}-end"


def long_session() -> list[Step]:
    """Return the steps of a session that is compacted on its way."""
    more = {
        6: "; exit 3",
        9: f"; {LARGE}",
        12: "; printf 'one\\n' > a.txt",
        13: f"; printf {_PNG} | base64 -d > a.png; echo in=$PWD",
    }
    calls = {3: 2, 15: 3}
    steps = [
        run(*(f"echo {mark(at, n)}{more.get(at, '')}" for n in range(calls.get(at, 1))))
        for at in range(TURNS)
    ]
    steps[IMAGE] = SEE
    return steps


# -- a day ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Day:
    """What is used of an agent's tools.

    Attributes:
        client: The agent.
        steps: The answers to it.
        helper: Those to its sub-agent.
        model: The model that it asks for: what Codex offers depends on that.
    """

    client: str
    steps: Sequence[Step]
    helper: Sequence[Step]
    model: str = "acme/wren-8b"


def _in_folder(name: str, key: str = "file_path", **arguments: Any) -> Any:
    """Return calls of a tool with a file in Claude Code's working directory."""

    def calls(asked: Json) -> list[Call]:
        (found,) = {*re.findall(r"working directory: (/[\w./-]+)", str(asked))}
        return [(name, {key: f"{found}/notes.txt", **arguments})]

    return calls


_ADDED = """*** Begin Patch
*** Add File: notes.txt
+first line
+a "quoted" line
*** End Patch
"""
_CHANGED = """*** Begin Patch
*** Update File: notes.txt
@@
-first line
+FIRST line é
*** End Patch
"""
_PATCHED = 'FIRST line é\\na "quoted" line'
_LAMP = Step([("lamp_17", {"state": "on"})], ["lamp_17 is on now"])


def _script(code: str, *expects: str) -> Step:
    """Return a step of Codex's newer models, which write JavaScript."""
    return Step([("__exec", {"input": code})], expects)


CLAUDE_CODE = Day(
    "claude-code",
    [
        run("echo heron-1", "echo heron-2"),
        Step(
            _in_folder("Write", content='first line\na "quoted" line\n'),
            ["File created successfully"],
        ),
        Step(
            _in_folder("Edit", old_string="first line", new_string="FIRST line é"),
            ["has been updated"],
        ),
        Step(_in_folder("Edit", old_string="absent", new_string=""), ["not found"]),
        run("cat notes.txt", expects=[_PATCHED]),
        DRAW,
        SEE,
        run(f"echo heron-7; {LARGE}"),
        Step([("ToolSearch", {"query": "select:mcp__barn__lamp_17"})], ["lamp_17"]),
        _LAMP,
        Step(
            [
                (
                    "Agent",
                    {
                        "description": "Print a word",
                        "prompt": f"{HELPER}: print a word.",
                        "subagent_type": "general-purpose",
                        "run_in_background": False,
                    },
                )
            ],
            [HELPED],
        ),
        Step([("WebSearch", {"query": "weather"})], ["WebSearch"]),
    ],
    [run("echo heron-4")],
)


def _waiting(asked: Json) -> list[Call]:
    """Wait for the sub-agent that was just started."""
    last = str(asked["messages"][-1]["content"])
    return [("wait_agent", {"targets": [json.loads(last)["agent_id"]]})]


CODEX = Day(
    "codex",
    [
        run("echo heron-1", "echo heron-2"),
        Step([("apply_patch", {"input": _ADDED})], ["A notes.txt"]),
        Step([("apply_patch", {"input": _CHANGED})], ["M notes.txt"]),
        run("cat notes.txt", expects=[_PATCHED]),
        DRAW,
        SEE,
        run(f"echo heron-7; {LARGE}"),
        Step([("tool_search", {"query": "lamp 17 barn", "limit": 2})], ["lamp_17"]),
        _LAMP,
        Step(
            [("create_goal", {"objective": "Print a word."})],
            ["Output of agent__goal_objective:\nPrint a word"],
        ),
        Step([("update_goal", {"status": "complete"})], ['"status":"complete"']),
        Step([("tool_search", {"query": "spawn_agent wait_agent"})], ["spawn_agent"]),
        Step([("spawn_agent", {"message": f"{HELPER}: print a word."})], ["agent_id"]),
        Step(_waiting, [HELPED]),
    ],
    [run("echo heron-4")],
    "gpt-5.5",
)
CODE_MODE = Day(
    "codex",
    [
        _script(
            "const r = await tools.exec_command({cmd: 'echo heron-1'}); text(r.output)",
            "heron-1\n",
        ),
        Step(
            [
                ("__exec", {"input": f"text('{each}')"})
                for each in ("heron-2", "heron-3")
            ],
            ["heron-2", "heron-3"],
        ),
        _script("```js\nthrow new Error('spilled')\n```", "spilled"),
        _script(
            f"await tools.apply_patch({json.dumps(_ADDED)}); text('heron-5')", "heron-5"
        ),
        _script(
            "const r = await tools.exec_command({cmd: 'cat notes.txt'}); text(r.output)",
            'first line\na "quoted" line',
        ),
        _script(f"image('data:image/png;base64,{_PNG}')", _NOT_READ),
        _script("notify('half way'); text('all the way')", "half way", "all the way"),
        _script(
            "text(await tools.mcp__barn__lamp_17({state: 'on'}))", "lamp_17 is on now"
        ),
        Step(
            [
                (
                    "spawn_agent",
                    {
                        "task_name": "helper",
                        "message": f"{HELPER}: print a word.",
                        "fork_turns": "none",
                    },
                )
            ],
            ["/root/helper"],
        ),
        Step([("wait_agent", {"timeout_ms": 10000})], [HELPED]),
    ],
    [_script("text('heron-4')", "heron-4")],
    "gpt-6-sol",
)


def native_session() -> list[Step]:
    """Return a long session's steps with a provider that can see images."""
    return [step for at, step in enumerate(long_session()) if at != IMAGE]


NATIVE_DAYS = {
    "codex": Day("codex", [*CODEX.steps[:4], *CODEX.steps[6:9]], [], CODEX.model),
    "claude-code": Day(
        "claude-code", [*CLAUDE_CODE.steps[:5], *CLAUDE_CODE.steps[7:10]], []
    ),
}
"""Edits, a long output, a search for tools and one of those that it finds."""


def interrupted(stops: Sequence[Path]) -> list[Step]:
    """Return the steps of a session that is interrupted in a text, a call and a tool."""
    text, call, tool = stops
    nothing = [r"\Z"]
    return [
        run("echo heron-1"),
        Step(text="Herons stand in the water.", stop=text),
        run("echo heron-2"),
        run("echo never", expects=nothing, stop=call),
        run(f"touch {tool}; sleep 30", "echo heron-3", expects=nothing),
        run("echo heron-4", expects=["heron-1", "heron-2", "heron-4"]),
    ]


DAYS = {"claude-code": CLAUDE_CODE, "codex": CODEX, "codex-code-mode": CODE_MODE}
