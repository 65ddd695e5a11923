"""Answers that were recorded: capture folders, single files, folders of both."""

import json
import tomllib
from collections.abc import Iterable, Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any

from .answer import Answer, request_body

ABOUT = "about.toml"
_MANIFEST = "manifest.json"
_SUFFIXES = (".sse", ".json")
_LARGE = 64 * 1024 * 1024


class RecordingError(Exception):
    """What cannot be read and why, as one sentence."""


def is_capture(path: Path) -> bool:
    """Tell whether *path* is a recorded answer by its name."""
    return path.suffix in _SUFFIXES and path.name != _MANIFEST


def answers(paths: Iterable[Path], asked: Iterable[str]) -> Iterator[Answer]:
    """Yield the answers at *paths*.

    Args:
        paths: Capture folders, and files.
        asked: What their requests asked, where nothing tells it.

    Raises:
        RecordingError: One of them cannot be read.
    """
    given = set(asked)
    manifests: dict[Path, dict[str, Any]] = {}
    for path in paths:
        try:
            if path.is_dir():
                yield _captured(path)
            elif path.stem == "response" and (path.parent / ABOUT).is_file():
                yield _captured(path.parent)
            else:
                yield _listed(path, manifests) or _assumed(path, given)
        except OSError as error:
            why = error.strerror or "it cannot be read"
            raise RecordingError(f"{path}: {why}") from error
        except (ValueError, TypeError, AttributeError, RecursionError) as error:
            raise RecordingError(f"{path}: its description is not readable") from error


def found(folder: Path) -> list[Path]:
    """Return the captures in *folder*, to its depths: folders, and single files."""
    folders = [path.parent for path in folder.rglob(ABOUT)]
    inside = set(folders)
    single = [
        path
        for path in folder.rglob("*")
        if path.is_file() and is_capture(path) and path.parent not in inside
    ]
    return sorted([*folders, *single])


def _read(path: Path) -> bytes:
    if path.stat().st_size > _LARGE:
        raise RecordingError(f"{path}: larger than {_LARGE >> 20} MiB")
    return path.read_bytes()


def _captured(folder: Path) -> Answer:
    """Return the answer in a folder with `about.toml`."""
    about = tomllib.loads(_read(folder / ABOUT).decode())
    response = next(iter(sorted(folder.glob("response.*"))), None)
    if response is None:
        raise RecordingError(f"{folder}: no response.* found")
    asked = about.get("asked", {})
    stream = asked.get("stream") is True
    body = request_body(
        stream=stream,
        usage=asked.get("usage") is True,
        tools=asked.get("tools") is True,
        forced=asked.get("forced_tool") is True,
        legacy=asked.get("legacy") is True,
    )
    body |= {key: asked[key] for key in ("model", "n") if key in asked}
    return Answer(
        name="/".join(folder.parts[-2:]),
        body=body,
        stream=stream,
        status=_status(about.get("status", 200)),
        data=_read(response),
        fragment=about.get("ended") is False,
    )


def _listed(path: Path, manifests: dict[Path, dict[str, Any]]) -> Answer | None:
    """Return the answer in a file that a manifest in a folder above lists, if any."""
    for folder in path.absolute().parents:
        manifest = folder / _MANIFEST
        if not manifest.is_file():
            continue
        if manifest not in manifests:
            listed = json.loads(_read(manifest))
            manifests[manifest] = {each["file"]: each for each in listed}
        name = path.absolute().relative_to(folder).as_posix()
        entry = manifests[manifest].get(name)
        if entry is not None:
            return _entry(entry, path)
    return None


def _entry(entry: dict[str, Any], path: Path) -> Answer:
    body = entry.get("request_body")
    return Answer(
        name=str(entry["file"]),
        body=body or {},
        known=bool(body),
        stream=bool(entry["stream"]),
        status=_status(entry["http_status"]),
        content_type=entry.get("content_type") or None,
        data=_read(path),
        fragment="fragment" in (entry.get("notes") or ""),
    )


def _assumed(path: Path, asked: set[str]) -> Answer:
    """Return the answer in a file of which nothing is known but its name."""
    data = _read(path)
    stream = path.suffix == ".sse"
    body = request_body(
        stream=stream,
        usage=stream and "usage" in asked,
        tools="tools" in asked,
        forced="forced-tool" in asked,
    )
    words = ", ".join(sorted(asked)) or "no usage and no tools"
    kind = "a stream" if stream else "a body"
    return Answer(
        name=path.name,
        body=body,
        stream=stream,
        status=200 if stream else _status_of(data),
        data=data,
        notes=[f"assumed: {kind} was asked for, with {words} (see --asked)"],
    )


def _status(value: object) -> int:
    """Return the HTTP status *value*.

    Raises:
        ValueError: It is none.
    """
    if isinstance(value, int) and 100 <= value <= 599:  # noqa: PLR2004
        return value
    raise ValueError(value)


def _status_of(data: bytes) -> int:
    """Return the status that a body must have had: one that is an error had one."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return 200
    failed = isinstance(value, dict) and value.get("error") and "choices" not in value
    return HTTPStatus.BAD_REQUEST if failed else HTTPStatus.OK
