"""Where the fuzzer's inputs come from: captures, examples, what was found before."""

import json
import tomllib
import zlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from llm_normalize import conformance
from llm_normalize.chat.state.asked import Asked
from llm_normalize.fixes import FIXES
from llm_normalize.repair.fix import Example, wire
from llm_normalize.wire.json_text import dumps
from workshop import RECORDED, ROOT
from workshop.fuzz.cases import HEADER, LONGEST, STATUSES, Case

INPUTS = ROOT / "tests" / "fuzz"


def inputs() -> list[Path]:
    """Return the files with inputs that broke a promise once."""
    return sorted(INPUTS.glob("*.bin"))


def seeds() -> list[bytes]:
    """Return the inputs to begin with.

    What broke a promise once, our own captures, the examples of all fixes, and what real providers sent, where a
    folder with it is at hand (see tests/properties/test_recorded.py).
    """
    cases = [*_captures(), *_examples(), *_recorded()]
    # Those take longest: the first minute is for others, too.
    cases += [case._replace(mode="long") for case in cases[::20]]
    known = [path.read_bytes() for path in inputs()]
    small = [case for case in cases if len(case.payload) + HEADER <= LONGEST]
    return known + [case.write() for case in small]


def _captures() -> Iterator[Case]:
    for path in sorted((ROOT / "tests" / "captures").glob("*/*/about.toml")):
        about = tomllib.loads(path.read_text(encoding="utf-8"))
        response = next(path.parent.glob("response.*"))
        asked = Asked(**about["asked"])
        yield _seed(asked, response.read_bytes(), about.get("status", 200))


def _examples() -> Iterator[Case]:
    for fix in FIXES:
        for example in fix.examples:
            yield _of_example(example)


def _of_example(example: Example) -> Case:
    payload = wire(example.before)
    if example.kind != "stream":
        # Framing is for streams: a body is its JSON alone.
        events = [each for each in example.before if isinstance(each, dict)]
        payload = dumps(events[0]) if events else payload
        status = example.status if example.kind == "error" else 200
        return _seed(replace(example.asked, stream=False), payload, status)
    return _seed(example.asked, payload, 200)._replace(ended=example.ended)


def _recorded() -> Iterator[Case]:
    manifest = RECORDED / "manifest.json"
    entries = json.loads(manifest.read_bytes()) if manifest.exists() else []
    for entry in entries:
        request = json.dumps(entry["request_body"]).encode()
        asked = replace(Asked.from_body(request), stream=bool(entry["stream"]))
        data = (RECORDED / entry["file"]).read_bytes()
        if asked.stream and len(data) > LONGEST // 2:
            # The beginning and the end are what differs between providers.
            blocks = conformance.events(data)
            data = b"".join([*blocks[:8], *blocks[-8:]])
        yield _seed(asked, data, entry["http_status"])


def _seed(asked: Asked, payload: bytes, status: int) -> Case:
    cut = zlib.crc32(payload) & 0xFFFF
    if asked.stream:
        return Case(asked, payload, cut=cut)
    argument = STATUSES.index(status) if status in STATUSES else 0
    return Case(asked, payload, "body", argument, cut)
