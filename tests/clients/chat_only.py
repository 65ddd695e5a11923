"""A provider of chat completions and of nothing else, in several dialects.

It serves `/CLIENT/CASE/v1/chat/completions`: a call of a tool, then what comes of it.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from clients.families.shapes import (
    ARGUMENTS,
    CALL,
    DONE,
    NAME,
    THOUGHT,
    THOUGHTS,
    TOOL,
    USAGE,
    WORDS,
    Json,
    arguments,
    completion,
    data,
    dumps,
    finish,
    fragment,
    in_delta,
    message,
    nim_finish,
    opening,
    thoughts,
    usage_chunk,
    words,
)
from scripted import Break, Part, Script, body_script
from workshop.traffic.http1 import Request

PRINTED = "drizzle-4711"
COMMAND = f"echo {PRINTED}"
# What the tools of the programs on the command line are given; another is SDKs'.
_COMMANDS: dict[str, Json] = {
    "Bash": {"command": COMMAND, "description": "Print a word"},
    "bash": {"command": COMMAND, "description": "Print a word"},
    "exec_command": {"cmd": COMMAND},
    "shell": {"command": ["echo", PRINTED]},
    "shell_command": {"command": COMMAND},
}
BUSY = "the barometer is stuck"
REFUSED = "no forecast for that place"


@dataclass(frozen=True)
class Call:
    """What is called, its arguments as they are cut."""

    name: str
    arguments: Sequence[str]

    @property
    def whole(self) -> Json:
        function = {"name": self.name, "arguments": "".join(self.arguments)}
        return {"id": CALL, "type": "function", "function": function}

    @property
    def chunks(self) -> list[Json]:
        first = {"index": 0, "id": CALL, "type": "function"}
        head = fragment(first, {"name": self.name, "arguments": ""})
        return [head, *map(arguments, self.arguments)]


def call_of(tools: list[Json]) -> Call:
    """Return a call of one of *tools*."""
    names = [tool["function"]["name"] for tool in tools]
    for name in names:
        if name in _COMMANDS:
            text = json.dumps(_COMMANDS[name])
            return Call(name, (text[:7], text[7:]))
    assert NAME in names, names
    return Call(NAME, ARGUMENTS)


# -- dialects ------------------------------------------------------------------------

type Dialect = Callable[[Call | None], list[Json]]
"""The chunks of an answer: a call, or what comes of it."""


def openai(call: Call | None) -> list[Json]:
    said = words() if call is None else call.chunks
    reason = "stop" if call is None else "tool_calls"
    thought = thoughts("reasoning_content")
    return [opening(), *thought, *said, finish(reason), usage_chunk()]


def nim(call: Call | None) -> list[Json]:
    """Return a whole call in the chunk that ends it, and nulls in each delta."""
    nulls = {"role": None, "content": None}
    thought = [in_delta(each, **nulls) for each in thoughts("reasoning_content")]
    if call is not None:
        calls = [{"index": 0, **call.whole}]
        said = [nim_finish("tool_calls", {**nulls, "tool_calls": calls})]
    else:
        last = nim_finish("stop", {"role": None, "content": ""})
        said = [*(in_delta(each, role=None) for each in words()), last]
    return [opening(None), *thought, *said, usage_chunk()]


def counting(call: Call | None) -> list[Json]:
    """Return usage in every chunk."""
    prompt = USAGE["prompt_tokens"]
    *chunks, last = openai(call)
    counted = [
        {
            "prompt_tokens": prompt,
            "completion_tokens": tokens,
            "total_tokens": prompt + tokens,
        }
        for tokens in range(len(chunks))
    ]
    return [
        *(
            {**each, "usage": so_far}
            for each, so_far in zip(chunks, counted, strict=True)
        ),
        last,
    ]


def unnumbered(call: Call | None) -> list[Json]:
    """Return calls without `index`."""
    chunks = openai(call)
    return [
        in_delta(each, tool_calls=[_unnumbered(one) for one in calls])
        if (calls := _calls_in(each))
        else each
        for each in chunks
    ]


def _unnumbered(call: Json) -> Json:
    return {key: call[key] for key in call if key != "index"}


def objects(call: Call | None) -> list[Json]:
    """Return arguments as an object, in one fragment."""
    chunks = openai(call)
    if call is None:
        return chunks
    function = {"name": call.name, "arguments": json.loads("".join(call.arguments))}
    whole = fragment({"index": 0, "id": CALL, "type": "function"}, function)
    first, *_ = (at for at, each in enumerate(chunks) if _calls_in(each))
    return [
        *chunks[:first],
        whole,
        *(each for each in chunks[first:] if not _calls_in(each)),
    ]


def renamed(call: Call | None) -> list[Json]:
    """Return reasoning under its other name."""
    role, *others = openai(call)
    return [role, *thoughts("reasoning"), *others[len(THOUGHTS) :]]


def growing(call: Call | None) -> list[Json]:
    """Return arguments that begin from the start each time."""
    if call is None:
        return openai(None)
    so_far = ["".join(call.arguments[: at + 1]) for at in range(len(call.arguments))]
    return openai(Call(call.name, so_far))


def _calls_in(value: Json) -> list[Json]:
    return [
        call
        for choice in value["choices"]
        for call in choice["delta"].get("tool_calls", ())
    ]


DIALECTS: dict[str, Dialect] = {
    "nim": nim,
    "counting": counting,
    "unnumbered": unnumbered,
    "objects": objects,
    "renamed": renamed,
    "growing": growing,
}

# -- what is answered ----------------------------------------------------------------


# In seconds. A client forgets what it has not read when its connection breaks, and then
# Claude Code takes it for an answer that cannot be streamed.
_UNTIL_READ = 0.5


def _begun(*rest: Part) -> Script:
    """Return an answer that has begun when *rest* comes."""
    return Script("", [*map(data, nim(None)[: len(THOUGHTS) + 3]), *rest])


BROKEN: dict[str, Script] = {
    "refused": body_script(dumps({"detail": REFUSED}), 400),
    "failed": _begun(data({"error": {"message": BUSY, "code": 503}}), DONE),
    "cut": _begun(_UNTIL_READ, Break.CUT),
    "unfinished": _begun(),
}
"""What goes wrong; of a stream after two words."""
TALKS = ("talk", "talk-stored")
"""The cases of a conversation of several turns: with `store`, its items are referred to."""
PROMPTS = ["Will it rain?", "And tomorrow?", "And then?"]
LENGTH = "length"
"""The case of a text that ends since it has got too long."""
BEGUN = "".join(WORDS[:2])

REQUEST: Json = {
    "model": "acme/wren-8b",
    "system": "Be brief.",
    "prompts": ["Will it rain?"],
    "tools": [TOOL["function"]],
    "result": PRINTED,
    "stream": True,
}


def whole(call: Call | None) -> Json:
    """Return an unstreamed answer as NIM sends it."""
    if call is None:
        return completion(message(reasoning_content=THOUGHT))
    more = {"reasoning_content": THOUGHT, "tool_calls": [call.whole]}
    return completion(message(None, **more), "tool_calls")


def answered(request: Request) -> Script:
    """Return what a request is answered."""
    _, client, case, *_ = [*request.path.split("/"), "", ""]
    if request.path.partition("?")[0] != f"/{client}/{case}/v1/chat/completions":
        return body_script(b"404 page not found\n", 404, "text/plain")
    if case in BROKEN:
        broken = BROKEN[case]
        return Script("", broken.parts, broken.status, broken.headers, broken.framing)
    asked = json.loads(request.body)
    # Programs add words of their own behind a result.
    is_talk = case in TALKS
    said = asked["messages"][-1:] if is_talk else asked["messages"]
    is_answered = any(each["role"] == "tool" for each in said)
    tools = asked.get("tools")
    call = call_of(tools) if tools and not is_answered else None
    if not asked.get("stream"):
        return body_script(dumps(whole(call)))
    if case == LENGTH:
        return _begun(data(nim_finish("length", {"role": None})), DONE)
    dialect = nim if is_talk else DIALECTS[case]
    return Script("", [*map(data, dialect(call)), DONE])
