"""A finding's input, made small."""

import re
import time
from collections.abc import Iterator

from llm_normalize import conformance
from workshop.fuzz.cases import HEADER
from workshop.fuzz.checks import check


def shrink(data: bytes, kind: str, seconds: float) -> bytes:
    """Return a smaller input that has a finding of the same *kind*.

    Args:
        data: An input that has it.
        kind: The kind of the finding.
        seconds: How long to try.
    """
    until = time.monotonic() + seconds

    def has(candidate: bytes) -> bool:
        return any(found.kind == kind for found in check(candidate))

    for candidates in (_smaller_head, _fewer_blocks, _less_json, _fewer_bytes) * 2:
        done = False
        while not done and time.monotonic() < until:
            done = True
            for candidate in candidates(data):
                if time.monotonic() > until:
                    break
                if candidate != data and has(candidate):
                    data, done = candidate, False
                    break
    return data


def _smaller_head(data: bytes) -> Iterator[bytes]:
    head = data[:HEADER].ljust(HEADER, b"\0")
    for at in range(HEADER):
        for value in {0, 1} if head[at] > 1 else {0} - {head[at]}:
            yield head[:at] + bytes([value]) + head[at + 1 :] + data[HEADER:]
    for at in range(8):
        if head[0] >> at & 1:
            yield bytes([head[0] ^ (1 << at)]) + head[1:] + data[HEADER:]


def _fewer_blocks(data: bytes) -> Iterator[bytes]:
    blocks = conformance.events(data[HEADER:])
    size = len(blocks) // 2
    while size:
        for at in range(0, len(blocks), size):
            yield data[:HEADER] + b"".join(blocks[:at] + blocks[at + size :])
        size //= 2


def _less_json(data: bytes) -> Iterator[bytes]:
    """Yield it without a part of its JSON, and with a plain one in its place."""
    for part in _PART.finditer(data, HEADER):
        start, end = part.span("value")
        for instead, first, last in (
            (b"", part.start(), end),
            (b"", part.start("key"), part.end("after")),
            (b'""', start, end),
            (b"0", start, end),
        ):
            if first >= 0 and last - first > len(instead):
                yield data[:first] + instead + data[last:]


_PART = re.compile(
    rb"""(?:,[ ]*)?(?P<key>(?:"[^"]*":[ ]*)?)
    (?P<value>"(?:[^"\\]|\\.)*"|\{[^{}]*\}|\[[^][]*\]|[-+.\w]+)
    (?=(?P<after>[ ]*,|))""",
    re.VERBOSE,
)
"""A part of JSON that holds no other, or parts that hold none."""


def _fewer_bytes(data: bytes) -> Iterator[bytes]:
    payload = data[HEADER:]
    size = len(payload) // 2
    while size >= (1 if len(payload) < _FEW else len(payload) // 64 + 1):
        for at in range(0, len(payload), size):
            yield data[:HEADER] + payload[:at] + payload[at + size :]
        size //= 2


_FEW = 400
