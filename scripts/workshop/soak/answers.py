"""Answers as OpenAI sends them, their words drawn from seeded dice.

The same answers as tests/judge/quirks.py draws with hypothesis, so that its quirks can
damage them; but every part of a text names its stream, so that one which strays is known.
"""

import json
from itertools import pairwise
from random import Random

from judge.quirks import (
    MODEL,
    WORDS,
    Answer,
    Called,
    Chunk,
    Request,
    Say,
    as_body,
    interleaved,
    streamed,
)

CREATED = 1_760_000_000


def chance(dice: Random, percent: int) -> bool:
    """Say yes so often."""
    return dice.randrange(100) < percent


def mark(n: int) -> str:
    """Return what names the stream *n* wherever it says something."""
    return f"<{n}>"


def usage(n: int, dice: Random) -> Chunk:
    """Return figures that hardly another stream has."""
    spent = dice.randrange(1, 5000)
    figures = {"prompt_tokens": n % 9973 + 1, "completion_tokens": spent}
    figures["total_tokens"] = sum(figures.values())
    if chance(dice, 30):
        return {**figures, "completion_tokens_details": {"reasoning_tokens": 1}}
    return dict(figures)


def text_parts(n: int, dice: Random, *, long: bool) -> list[str]:
    """Return a text in parts, each with its place."""
    count = dice.randrange(150, 400) if long else dice.randrange(1, 25)
    return [f"{mark(n)}{at} {dice.choice(WORDS)}" for at in range(count)]


def called(n: int, at: int, dice: Random) -> Called:
    """Return a call, its arguments cut anywhere."""
    values: list[Chunk] = [
        {"at": mark(n)},
        {"q": f'é "{mark(n)}"', "n": [1, 2.5, {}], "deep": {"😀": None}},
        {"code": f"x = {{}}\n# {mark(n)}\n" * dice.randrange(1, 20)},
    ]
    arguments = json.dumps(dice.choice(values), ensure_ascii=False)
    places = sorted(dice.sample(range(1, len(arguments)), dice.randrange(4)))
    cut = [arguments[a:b] for a, b in pairwise([0, *places, len(arguments)])]
    return Called(dice.choice(["f", "get_weather"]), cut, f"call_{mark(n)}{at}")


def one_choice(n: int, dice: Random, *, forced: bool) -> Say:
    """Return what one choice says."""
    kind = dice.choices(["text", "calls", "refusal", "legacy"], [12, 6, 1, 1])[0]
    text = text_parts(n, dice, long=chance(dice, 4))
    thought = text_parts(n, dice, long=False) if chance(dice, 25) else []
    if kind == "text":
        reason = dice.choice(["stop", "stop", "length", "content_filter"])
        return Say(text, thought, [], [], None, reason)
    if kind == "refusal":
        return Say([], thought, ["I", f" cannot {mark(n)}"], [], None, "stop")
    text = text[:5] if chance(dice, 30) else []
    if kind == "legacy":
        return Say(text, thought, [], [], called(n, 0, dice), "function_call")
    calls = [called(n, at, dice) for at in range(dice.choice([1, 1, 1, 2, 3]))]
    return Say(text, thought, [], calls, None, "stop" if forced else "tool_calls")


def every_choice(n: int, dice: Random) -> list[Say]:
    """Return what the choices say: mostly there is one."""
    forced = chance(dice, 10)
    return [
        one_choice(n, dice, forced=forced) for _ in range(dice.choice([1] * 9 + [2]))
    ]


def request_for(
    says: list[Say], dice: Random, *, counted: bool, stream: bool
) -> Request:
    """Return the request for that."""
    tools = any(each.calls or each.legacy for each in says) or chance(dice, 30)
    forced = any(each.calls and each.finish == "stop" for each in says)
    legacy = any(each.legacy for each in says)
    return Request(stream, counted, tools, forced, len(says), legacy)


def envelope(n: int) -> Chunk:
    """Return what names all chunks of the stream *n*."""
    created = CREATED + n % 1000
    return {"id": f"chatcmpl-{mark(n)}", "created": created, "model": MODEL}


def _top(n: int, dice: Random) -> Chunk:
    """Return what all chunks of a stream have."""
    more: Chunk = {}
    if chance(dice, 40):
        more["system_fingerprint"] = dice.choice([None, "fp_1"])
    if chance(dice, 20):
        more["service_tier"] = "default"
    return {**envelope(n), **more}


def stream(n: int, dice: Random) -> Answer:
    """Return the stream *n*."""
    says = every_choice(n, dice)
    counted = chance(dice, 50)
    figures = usage(n, dice) if counted or chance(dice, 30) else {}
    top = _top(n, dice)
    logprobs = "full" if chance(dice, 10) else ""
    order = interleaved(says, [dice.randrange(3) for _ in says], dice)
    request = request_for(says, dice, counted=counted, stream=True)
    return streamed(says, order, top, figures, logprobs, request)


def body(n: int, dice: Random) -> Answer:
    """Return the answer *n* as one body."""
    says = every_choice(n, dice)
    top, figures = _top(n, dice), usage(n, dice)
    request = request_for(says, dice, counted=False, stream=False)
    return as_body(says, top, figures, request)
