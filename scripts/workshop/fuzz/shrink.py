"""A finding's input, made small."""

import json
import time
from collections.abc import Iterator

from llm_normalize import conformance
from workshop.fuzz.cases import HEADER
from workshop.fuzz.checks import check
from workshop.fuzz.mutator import parsed_block, places_in


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
    """Yield what is left without one part of one JSON value."""
    blocks = conformance.events(data[HEADER:])
    for number, block in enumerate(blocks):
        read = parsed_block(block)
        for at in range(len([*places_in(read[1])]) if read else 0):
            read = parsed_block(block)  # anew: what was read is changed here
            assert read is not None
            head, value, tail = read
            parent, key = [*places_in(value)][at]
            del parent[key]
            text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
            less = head + text.encode(errors="backslashreplace") + tail
            left = [*blocks[:number], less, *blocks[number + 1 :]]
            yield data[:HEADER] + b"".join(left)


def _fewer_bytes(data: bytes) -> Iterator[bytes]:
    payload = data[HEADER:]
    size = len(payload) // 2
    while size >= (1 if len(payload) < _FEW else len(payload) // 64 + 1):
        for at in range(0, len(payload), size):
            yield data[:HEADER] + payload[:at] + payload[at + size :]
        size //= 2


_FEW = 400
