"""OpenAI's answer to a request that asks for usage otherwise than the family's."""

import json
from dataclasses import replace

from clients.families.shapes import DONE, EVENTS, Answer, Json, data


def as_asked(answer: Answer, request: Json, given: Json) -> Answer:
    """Return what OpenAI would have sent for *given* in place of *request*.

    Some libraries always ask for usage, or never, and some cannot force a call.
    """
    asked = _asks_usage(given)
    unforced = "tool_choice" in request and "tool_choice" not in given
    if answer.content_type != EVENTS or (
        asked == _asks_usage(request) and not unforced
    ):
        return answer
    if asked and answer.counted is not None:
        return answer.counted
    events = b"".join(answer.pieces).split(b"\n\n")
    values = [json.loads(event[6:]) for event in events if event.startswith(b"data: {")]
    known = [value["usage"] for value in values if value.get("usage")]
    kept = [value for value in values if value.get("choices") != []]
    for value in kept:
        value.pop("usage", None)
        for choice in value.get("choices", ()):
            if unforced and choice["finish_reason"]:
                choice["finish_reason"] = "tool_calls"
    if known and asked:
        kept.append({**kept[-1], "choices": [], "usage": known[-1]})
    elif known:
        kept[-1]["usage"] = known[-1]
    ending = [DONE] if answer.pieces[-1].endswith(DONE) else []
    return replace(answer, pieces=(*map(data, kept), *ending))


def _asks_usage(request: Json) -> bool:
    return (request.get("stream_options") or {}).get("include_usage") is True
