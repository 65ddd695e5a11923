"""What a provider sends, and the same conversation as OpenAI would have sent it.

A family is one quirk. Each JSON file has one group of them, `shared.json` what several refer
to by name; `framing` writes one text in other ways. Of an answer's pieces an object is the
event with it, a text stands for itself.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from clients.families import framing
from clients.families.shapes import EVENTS, JSON, Answer, Family, Json, data, dumps

__all__ = ["FAMILIES", "GROUPS", "Answer", "Family", "Json"]

GROUPS = {
    "nulls": "nulls",
    "envelope": "envelope",
    "finish": "finishes",
    "tool calls": "calls",
    "content, reasoning": "content",
    "usage": "usages",
    "errors": "errors",
    "framing": "",
    "wrong kind": "kinds",
    "OpenAI's own": "openai",
}
"""The file of each group."""


def _read(name: str) -> Any:
    path = Path(__file__).with_name(f"{name}.json")
    return json.loads(path.read_text(encoding="utf-8"))


def _answer(written: Any) -> Answer:
    if isinstance(written, str):
        return _answer(_SHARED["answers"][written])
    if isinstance(written, list):
        return Answer(tuple(map(_piece, written)))
    given = {"content_type": JSON if "body" in written else EVENTS, **written}
    pieces = [dumps(given.pop("body"))] if "body" in given else []
    pieces += map(_piece, given.pop("pieces", ()))
    for key in ("later", "counted"):
        given |= {key: _answer(given[key])} if key in given else {}
    return Answer(tuple(pieces), **given)


def _piece(written: Json | str) -> bytes:
    if isinstance(written, dict):
        return data(written)
    return written.encode("utf-8", "surrogateescape")


def _families() -> Iterator[Family]:
    for group, file in GROUPS.items():
        for each in _read(file) if file else ():
            asked = each.get("request", "text")
            yield Family(
                each["name"],
                _answer(each.get("quirk", each["openai"])),
                _answer(each["openai"]),
                _SHARED["requests"][asked] if isinstance(asked, str) else asked,
                group,
                conforms=each.get("conforms", False),
                made_up=tuple(each.get("made_up", ())),
            )
        if not file:
            text, request = _answer("text"), _SHARED["requests"]["text"]
            for name, quirk in framing.quirks(text):
                yield Family(name, quirk, text, request, group)


_SHARED = _read("shared")
_ALL = [*_families()]
FAMILIES = {family.name: family for family in _ALL}
if len(FAMILIES) < len(_ALL):
    raise ValueError("two families have one name")
