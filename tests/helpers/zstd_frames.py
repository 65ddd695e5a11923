"""Frames of zstd, made by the library that mitmproxy brings: its versions differ in it."""

import importlib
import importlib.util
from collections.abc import Callable
from typing import Any

NAME = next(
    name
    for name in ("zstandard", "compression.zstd", "backports.zstd")
    if importlib.util.find_spec(name.partition(".")[0])
)
"""The first before mitmproxy 12.3; then Python's own, which the last brings to older ones."""
LIBRARY: Any = importlib.import_module(NAME)


def compress(data: bytes) -> bytes:
    """Return one frame."""
    return bytes(LIBRARY.compress(data))


def packer(window_log: int = 21) -> Callable[[bytes, bool], bytes]:
    """Return what packs the next part of a frame, which the last one ends."""
    if NAME == "zstandard":
        wide = LIBRARY.ZstdCompressionParameters(window_log=window_log)
        older = LIBRARY.ZstdCompressor(compression_params=wide).compressobj()
        ends = LIBRARY.COMPRESSOBJ_FLUSH_BLOCK, LIBRARY.COMPRESSOBJ_FLUSH_FINISH
        return lambda data, last: older.compress(data) + older.flush(ends[last])
    window = {LIBRARY.CompressionParameter.window_log: window_log}
    new = LIBRARY.ZstdCompressor(options=window)
    modes = new.FLUSH_BLOCK, new.FLUSH_FRAME
    # In one call, the frame would have no window larger than its data.
    return lambda data, last: new.compress(data) + new.flush(modes[last])
