"""The peers of compatibility.md: how each is started, and what it is asked.

Each JSON file has one. Of a case it has the fields of `Case`; `asked` are the arguments of
`ask`, a call in `right` is its name and arguments; without a server, `capture` or `webflux`
says what a scripted provider sends.
"""

import json
from pathlib import Path
from typing import Any

from peers.asking import ask
from peers.cases import Case, Peer
from peers.scripted import capture, webflux


def _read(path: Path) -> Peer:
    written = json.loads(path.read_text(encoding="utf-8"))
    cases = [*map(_case, written["cases"])]
    return Peer(written["name"], cases, written.get("server"))


def _case(written: dict[str, Any]) -> Case:
    given = {**written, "asked": ask(**written["asked"])}
    right = given["right"]
    if "calls" in right:
        right["calls"] = [(True, *call) for call in right["calls"]]
    if "usage" in right:
        right["usage"] = tuple(right["usage"])
    if "capture" in given:
        given["answer"] = capture(given.pop("capture"))
    if "webflux" in given:
        given["answer"] = webflux(*given.pop("webflux"))
    return Case(**given)


PEERS = tuple(map(_read, sorted(Path(__file__).parent.glob("*.json"))))
