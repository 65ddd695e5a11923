"""Inputs made of others: bytes, blocks and JSON values, changed."""

import json
import random
import re
from collections.abc import Iterator, Sequence
from typing import Any

from llm_normalize import conformance
from workshop.fuzz.cases import HEADER, LONGEST, Json

KEYS = (
    "choices", "index", "delta", "message", "text", "finish_reason", "logprobs",
    "role", "content", "reasoning_content", "reasoning", "refusal", "audio",
    "tool_calls", "function_call", "function", "id", "type", "name", "arguments",
    "usage", "prompt_tokens", "completion_tokens", "total_tokens", "error", "code",
    "param", "detail", "status", "object", "created", "model", "system_fingerprint",
    "response", "result", "success", "errors", "x_groq", "data", "event", "extra",
)  # fmt: skip
VALUES: tuple[Json, ...] = (
    None, "", 0, 1, -1, True, False, [], {}, [None], [{}], [""], " ", "a", "0",
    "stop", "length", "tool_calls", "function_call", "error", "eos", "content_filter",
    "assistant", "function", "{}", '{"a":1}', "null", "None", "<think>", "</think>",
    2**31, 10**30, 1.5, 1e300, "\ud83d", "\u2028", "é", "x" * 300,
    {"message": "m", "code": 500}, {"prompt_tokens": 1, "completion_tokens": 1},
    {"name": "f", "arguments": "{}"}, {"index": 0, "function": {"arguments": "a"}},
)  # fmt: skip
BLOCKS = (
    b"data: [DONE]\n\n", b"data:[DONE]\n\n", b": ping\n\n", b":\n\n", b"\n", b"\r\n",
    b"data: \n\n", b"data: {}\n\n", b"data: null\n\n", b"data: x\n\n", b"event: a\n",
    b"id: 1\n", b"retry: 5\n\n", b"\xef\xbb\xbf", b'data: {"a":1,"a":2}\n\n',
    b'data: {"error":{"message":"m","code":500}}\n\n', b'{"error":"m"}\n\n',
    b'data: {"choices":[]}\n\n', b"data: \xff\n\n", b"error: busy\n\n",
    b'data: {"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2}}\n\n',
    b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n',
    b"data: [" + b"[" * 300 + b"]" * 300 + b"]\n\n", b"data: " + b"x" * 3000 + b"\n\n",
)  # fmt: skip
_JSON = re.compile(rb"(?:data:)? *(\{.*\}|\[.*\])", re.DOTALL)


class Mutator:
    """Changes inputs: mostly what their JSON says and how it is framed.

    Args:
        pool: Inputs to take parts from.
    """

    def __init__(self, pool: Sequence[bytes]) -> None:
        self._payloads = [data[HEADER:] for data in pool] or [b""]
        self._weighted = [
            *[self._value] * 12, *[self._event] * 6, *[self._bytes] * 3,
            *[self._frame] * 3, self._splice,
        ]  # fmt: skip

    def mutate(self, data: bytes, dice: random.Random, limit: int = LONGEST) -> bytes:
        """Return *data* changed in one place or a few, of at most *limit* bytes."""
        head = bytearray(data[:HEADER].ljust(HEADER, b"\0"))
        if dice.random() < _HEADS:
            at = dice.randrange(HEADER)
            head[at] = head[at] ^ (1 << dice.randrange(8)) if at == 0 else _byte(dice)
        blocks = conformance.events(data[HEADER:])
        for _ in range(dice.choice((1, 1, 1, 2, 2, 4))):
            dice.choice(self._weighted)(blocks, dice)
        return (bytes(head) + b"".join(blocks))[:limit]

    def _value(self, blocks: list[bytes], dice: random.Random) -> None:
        """Change one JSON value, key or type."""
        places = [at for at, block in enumerate(blocks) if _JSON.match(block)]
        if not places:
            return
        at = dice.choice(places)
        read = parsed_block(blocks[at])
        if read is None:
            return
        head, value, tail = read
        donor = parsed_block(
            dice.choice(conformance.events(dice.choice(self._payloads)) or [b""])
        )
        value = _changed(value, dice, donor[1] if donor else None)
        blocks[at] = head + _spelled(value, dice) + tail

    def _event(self, blocks: list[bytes], dice: random.Random) -> None:
        """Drop, repeat, move, join or add an event."""
        at = dice.randrange(len(blocks) + 1)
        act = dice.randrange(6)
        if act == 0 or at == len(blocks):
            blocks.insert(at, dice.choice(BLOCKS))
        elif act == 1:
            del blocks[at : at + dice.choice((1, 1, 2, 5))]
        elif act == 2:  # noqa: PLR2004 - the numbers are sides of the dice
            blocks.insert(dice.randrange(len(blocks) + 1), blocks[at])
        elif act == 3:  # noqa: PLR2004
            blocks.insert(dice.randrange(len(blocks)), blocks.pop(at))
        elif act == 4:  # noqa: PLR2004
            other = conformance.events(dice.choice(self._payloads)) or [b""]
            blocks.insert(at, dice.choice(other))
        else:
            blocks[at] = blocks[at].rstrip(b"\r\n") + dice.choice((b"", b"\n", b" "))

    def _frame(self, blocks: list[bytes], dice: random.Random) -> None:
        """Change line ends, prefixes, or how the JSON lies on its lines."""
        one = dice.randrange(len(blocks)) if blocks else 0
        old, new = dice.choice(
            (
                (b"\n", b"\r\n"), (b"\n", b"\r"), (b"\n\n", b"\n"), (b"\n", b"\n\n"),
                (b"\n\n", b"\r\n\r\n"), (b"data: ", b"data:"), (b"data: ", b""),
                (b"data: ", b"data:  "), (b"data: ", b"data: data: "), (b"}\n", b"} \n"),
                (b"data: ", b"event: x\ndata: "), (b"data: ", b": ping\ndata: "),
                (b",", b",\ndata: "), (b",", b",\n"), (b"{", b"{ "), (b"\n\n", b""),
            )
        )  # fmt: skip
        everywhere = dice.random() < _HALF
        for at in range(len(blocks)) if everywhere else range(one, len(blocks))[:1]:
            blocks[at] = blocks[at].replace(old, new, dice.choice((-1, 1)))

    def _bytes(self, blocks: list[bytes], dice: random.Random) -> None:
        """Cut a line, or change a few bytes."""
        if not blocks:
            blocks.append(dice.randbytes(dice.randrange(20)))
            return
        at = dice.randrange(len(blocks))
        block = bytearray(blocks[at])
        place = dice.randrange(len(block) + 1)
        act = dice.randrange(4)
        if act == 0:
            del block[place : place + dice.choice((1, 2, 8, len(block)))]
        elif act == 1:
            block[place:place] = dice.choice((b"\n", b"\r", b'"', b"\0", b"\xc3", b"{"))
        else:
            block[place : place + 1] = dice.randbytes(1)
        blocks[at] = bytes(block)
        if act == 0 and dice.random() < _HALF:
            del blocks[at + 1 :]  # a stream that breaks off

    def _splice(self, blocks: list[bytes], dice: random.Random) -> None:
        """Go on with another answer."""
        other = conformance.events(dice.choice(self._payloads))
        del blocks[dice.randrange(len(blocks) + 1) :]
        blocks += other[dice.randrange(len(other) + 1) :]


_HEADS = 0.2
_HALF = 0.5


def _byte(dice: random.Random) -> int:
    return dice.choice((0, 1, dice.randrange(256)))


def parsed_block(block: bytes) -> tuple[bytes, Json, bytes] | None:
    """Return the JSON value of *block*, and the bytes around it."""
    match = _JSON.match(block)
    if match is None:
        return None
    try:
        value = json.loads(match[1])
    except (ValueError, RecursionError):
        return None
    return block[: match.start(1)], value, block[match.end(1) :]


def _spelled(value: Json, dice: random.Random) -> bytes:
    spaced = (", ", ": ") if dice.random() < _HEADS else (",", ":")
    text = json.dumps(value, ensure_ascii=dice.random() < _HALF, separators=spaced)
    return text.encode(errors="backslashreplace")


def places_in(value: Json) -> Iterator[tuple[Json, Any]]:
    """Yield where each part of *value* is: the object or list, and the key in it."""
    keys = value if isinstance(value, dict) else range(len(value))
    for key in keys:
        yield value, key
        if isinstance(value[key], dict | list):
            yield from places_in(value[key])


def _changed(value: Json, dice: random.Random, donor: Json) -> Json:
    """Return *value* with one part changed, maybe to a part of *donor*."""
    places = list(places_in(value))
    if not places:
        return dice.choice(VALUES)
    # What lies deep is named more often than what holds it.
    parent, key = dice.choice(places)
    act = dice.randrange(10)
    part = parent[key]
    if act == 0:
        del parent[key]
    elif act == 1 and isinstance(parent, dict):
        parent[dice.choice(KEYS)] = parent.pop(key)
    elif act == 2 and isinstance(parent, dict):  # noqa: PLR2004
        parent[dice.choice(KEYS)] = dice.choice(VALUES)
    elif act == 3 and isinstance(parent, list):  # noqa: PLR2004
        parent.insert(dice.randrange(len(parent) + 1), json.loads(json.dumps(part)))
    elif act == 4:  # noqa: PLR2004
        parent[key] = dice.choice(([part], {dice.choice(KEYS): part}, [part, part]))
    elif act == 5:  # noqa: PLR2004
        parent[key] = json.dumps(part) if isinstance(part, dict | list) else str(part)
    elif act == 6 and isinstance(donor, dict | list):  # noqa: PLR2004
        found = [each for each in places_in(donor) if each[1] == key]
        given, name = dice.choice(found or list(places_in(donor)) or [(donor, 0)])
        parent[key] = given[name] if given else donor
    elif act == 7 and isinstance(part, int):  # noqa: PLR2004
        parent[key] = part + dice.choice((1, -1, 2, 1000))
    else:
        parent[key] = dice.choice(VALUES)
    return value
