"""Read before/after logs: one or many, with their rotated files, plain or gzipped.

A log may be read while it is being written: its last line may be half there, which is
counted and is no fault.
"""

import glob
import gzip
import json
import re
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

type Record = dict[str, Any]

ROTATED = 4
"""Rotated files beside a log: NAME.1 is the newest."""

LONGEST = 64 * 1024 * 1024
"""Bytes of a line that is read; a longer one is none of the addon's."""

_MOST = 2**53
_NAME = re.compile(r"(?P<log>.+?\.jsonl)(?:\.(?P<number>\d+))?(?P<gz>\.gz)?")
_GZIP = b"\x1f\x8b"


class LogError(Exception):
    """What cannot be read and why, as one sentence."""


class Notes:
    """What was met beside records, counted.

    Attributes:
        files: Files that were read.
        torn: Files that end in half a line: still being written, or cut off.
        unreadable: Lines in the midst of a file that are no record.
        lost: Lines that a log says it could not write.
        size: Bytes of all lines so far, unpacked.
    """

    def __init__(self) -> None:
        self.files: list[Path] = []
        self.torn = 0
        self.unreadable = 0
        self.lost = 0
        self.size = 0


def find(given: Iterable[str]) -> list[Path]:
    """The files that *given* names, each once, of each log the oldest first.

    Args:
        given: Files, folders (searched to their depths for `*.jsonl`) and patterns. A log
            brings its rotated files along.

    Raises:
        LogError: One of them names nothing.
    """
    found: dict[Path, None] = {}
    for text in given:
        named = _named(text)
        if not named:
            raise LogError(f"{text}: there is no before/after log")
        for path in named:
            for each in _with_rotated(path):
                found.setdefault(each.resolve())
    return list(found)


def _named(text: str) -> list[Path]:
    path = Path(text).expanduser()
    if path.is_dir():
        inside = (each for each in path.rglob("*.jsonl*") if each.is_file())
        return sorted(each for each in inside if _NAME.fullmatch(each.name))
    if path.exists():
        return [path]
    rotated = [each for each in _with_rotated(path) if each.exists()]
    matching = glob.glob(str(path), recursive=True)  # noqa: PTH207 - may be absolute
    files = [Path(each) for each in matching if Path(each).is_file()]
    return rotated or sorted(each for each in files if not each.name.endswith(".lock"))


def _with_rotated(path: Path) -> list[Path]:
    """*path* after the rotated files of the log that it is; else alone."""
    found = _NAME.fullmatch(path.name)
    if found is None or found["number"]:
        return [path]
    log = path.with_name(found["log"])
    numbered = [f"{log.name}.{at}" for at in range(ROTATED, 0, -1)]
    names = [name + end for name in numbered for end in (".gz", "")]
    rotated = [path.with_name(name) for name in names]
    return [*(each for each in rotated if each.is_file()), path]


def read(paths: Iterable[Path], notes: Notes) -> Iterator[Record]:
    """Yield the records of *paths*, in order; what else there is goes into *notes*.

    Raises:
        LogError: A file cannot be read.
    """
    for path in paths:
        notes.files.append(path)
        try:
            with _opened(path) as file:
                yield from _records(file, notes)
        except (EOFError, gzip.BadGzipFile, zlib.error):
            notes.torn += 1  # compressed, and cut off
        except OSError as error:
            raise LogError(f"{path}: {error.strerror or error}") from error


def _opened(path: Path) -> gzip.GzipFile | IO[bytes]:
    with path.open("rb") as file:
        packed = file.read(2) == _GZIP
    if packed:
        return gzip.open(path, "rb")
    return path.open("rb")


def _records(file: gzip.GzipFile | IO[bytes], notes: Notes) -> Iterator[Record]:
    # As bytes: text has more line ends than "\n", and a model may write them.
    for line in iter(lambda: file.readline(LONGEST), b""):
        notes.size += len(line)
        if len(line) == LONGEST and not line.endswith(b"\n"):
            notes.unreadable += 1
            _skip_line(file, notes)
            continue
        try:
            record = json.loads(line.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            record = None
        if not isinstance(record, dict):
            if not line.endswith(b"\n"):
                notes.torn += 1
            elif line.strip():
                notes.unreadable += 1
        elif record.get("type") == "lost":
            notes.lost += number_of(record, "count")
        else:
            yield record


def _skip_line(file: gzip.GzipFile | IO[bytes], notes: Notes) -> None:
    for rest in iter(lambda: file.readline(LONGEST), b""):
        notes.size += len(rest)
        if rest.endswith(b"\n"):
            return


def number_of(record: Record, key: str) -> int:
    """The count under *key*; 0 where there is none that can be one."""
    value = record.get(key)
    return value if isinstance(value, int) and 0 < value <= _MOST else 0


def time_of(record: Record, key: str) -> float | None:
    """The time under *key*, in milliseconds; None where there is none."""
    value = record.get(key)
    if isinstance(value, int | float) and 0 <= value <= _MOST:
        return float(value)
    return None


def text_of(record: Record, key: str) -> str:
    """The text under *key*; empty where there is none."""
    value = record.get(key)
    return value if isinstance(value, str) else ""
