"""Chunks that say more at once than OpenAI's do, split into several."""

from collections import Counter

from .chunk import Chunk, calls, choices, deltas, envelope_of, function, given_index


def part_choices(chunk: Chunk) -> list[Chunk] | None:
    """Return *chunk* in parts, no two choices of one index in any; None if it is one."""
    found = choices(chunk)
    if len(found) < 2:  # noqa: PLR2004
        return None  # nearly always
    rounds: list[list[Chunk]] = []
    times: Counter[int] = Counter()
    for choice in found:
        index = given_index(choice)
        at = 0 if index is None else times[index]
        times.update([] if index is None else [index])
        rounds += [[]] if at == len(rounds) else []
        rounds[at].append(choice)
    if len(rounds) < 2:  # noqa: PLR2004
        return None
    chunk["choices"] = rounds.pop()
    return [*({**envelope_of(chunk), "choices": each} for each in rounds), chunk]


def bare_of(choice: Chunk) -> Chunk:
    """Return *choice* for a chunk that is split off it, without what is said once."""
    bare = {key: each for key, each in choice.items() if key != "text"}
    bare |= {"logprobs": None} if "logprobs" in choice else {}
    return {**bare, "finish_reason": None}


def part_text(chunk: Chunk) -> list[Chunk] | None:
    """Return *chunk* in two, text before the calls it stands beside; None if it is one."""
    return part_first(chunk, ("content",), ("tool_calls",), takes_logprobs=True)


def part_first(
    chunk: Chunk,
    keys: tuple[str, ...],
    others: tuple[str, ...],
    *,
    takes_logprobs: bool,
) -> list[Chunk] | None:
    """Return *chunk* in two; None if it is one.

    Args:
        chunk: The chunk. It loses what goes first.
        keys: What of its deltas goes first.
        others: What it has to stand beside.
        takes_logprobs: Whether log probabilities go first, too.
    """
    firsts: list[Chunk] = []
    for _, choice, delta in deltas(chunk):
        known = [key for key in keys if delta.get(key)]
        if not known or not any(delta.get(key) for key in others):
            continue
        # The role opens the choice, so it goes with what comes first.
        first = {key: delta.pop(key) for key in ("role", *known) if key in delta}
        firsts.append({**choice, "delta": first, "finish_reason": None})
        if "logprobs" in choice:
            (choice if takes_logprobs else firsts[-1])["logprobs"] = None
        choice.pop("text", None)
    return [{**envelope_of(chunk), "choices": firsts}, chunk] if firsts else None


def part_calls(chunk: Chunk) -> list[Chunk] | None:
    """Return *chunk* in parts, one fragment each, where two are of one call."""
    parts: list[Chunk] = []
    for _, choice, delta in deltas(chunk):
        found = calls(delta)
        if not _share_a_call(found):
            continue
        delta["tool_calls"] = found[:1]
        bare = bare_of(choice)
        first = envelope_of(chunk)
        for call in found[1:]:
            alone = {**bare, "delta": {"tool_calls": [call]}}
            parts.append({**first, "choices": [alone]})
    return [chunk, *parts] if parts else None


def fragments_of(call: Chunk, index: int) -> list[Chunk]:
    """Return a whole *call* as the fragments in which OpenAI sends it."""
    inner = function(call)
    rest = {"arguments": inner["arguments"]}
    place = {} if "index" in call else {"index": index}
    opening = {**place, **call, "function": {**inner, "arguments": ""}}
    return [opening, {"index": index, "function": rest}]


def _share_a_call(found: list[Chunk]) -> bool:
    """Tell whether two of *found* may be of one call: by index, by id, or without any."""
    given = [given_index(call) for call in found]
    indexes = {at for at in given if at is not None and at >= 0}
    ids = [repr(identity) for call in found if (identity := call.get("id"))]
    same = len(indexes) < len(found) or len(set(ids)) < len(ids)
    return same and len(found) > 1
