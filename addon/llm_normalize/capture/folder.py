"""A capture folder: one answer of a provider, for a bug report, that runs as a test.

`response.sse` (or `.json`) is what was received, `expected.*` what is sent today, and
`about.toml` what was asked and which fixes fire. Nothing of the request but that is in it.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from urllib.parse import urlsplit

from ..chat.state.asked import Asked
from ..repair.fix import Fix
from ..routing.hosts import HostPattern
from ..routing.known_providers import HOSTS
from .redaction import Redaction
from .rerun import Native, Repaired, repair

_BAD = 400
_NAME = 60  # characters of a folder's name


@dataclass(frozen=True, slots=True)
class Capture:
    """One answer, to be written.

    Attributes:
        received: What the provider sent, decoded.
        asked: What the request asked.
        host: The host that was asked.
        date: The day, as `2026-11-22`.
        status: The HTTP status.
        is_stream: Whether it passes event by event.
        is_complete: Whether it is there to its end.
        native: What reads it, if it is not chat.
    """

    received: bytes
    asked: Asked
    host: str
    date: str
    status: int = 200
    is_stream: bool = True
    is_complete: bool = True
    native: Native | None = None

    @property
    def name(self) -> str:
        """A folder's name, safe anywhere."""
        model = self.asked.model.rpartition("/")[2]
        kind = "stream" if self.is_stream else "body"
        words = [
            self.host,
            model,
            kind,
            *([] if self.status < _BAD else [str(self.status)]),
        ]
        plain = re.sub("[^a-z0-9.]+", "-", "-".join(words).lower())
        return plain.strip("-.")[:_NAME] or "answer"


@dataclass(frozen=True, slots=True)
class Written:
    """A capture folder that was written.

    Attributes:
        folder: Where it is.
        fixes: How often each fix fires.
        was_altered: Whether what was taken out changed that.
    """

    folder: Path
    fixes: dict[str, int]
    was_altered: bool


def write(
    where: Path,
    capture: Capture,
    fixes: Sequence[type[Fix]],
    secrets: Sequence[str] = (),
    *,
    fill: bool = False,
) -> Written:
    """Write *capture* into a folder of its own below *where*.

    Args:
        where: The folder for it, made if it is not there.
        capture: The answer.
        fixes: The fixes to apply, in order.
        secrets: Strings of the request that must not be there.
        fill: Whether all words are replaced by others of the same length.

    Raises:
        OSError: It cannot be written.
    """
    before = _repair(capture, capture.received, fixes)
    redaction = Redaction(secrets, fill=fill)
    received = redaction.of(capture.received)
    model = redaction.name(capture.asked.model)
    redacted = replace(
        capture,
        received=received,
        asked=replace(capture.asked, model=model),
        host=_family(capture.host) if fill else redaction.name(capture.host),
    )
    if redacted.native is not None:  # as about.toml states its request
        native = redacted.native.stated(_asked(redacted))
        redacted = replace(redacted, native=native)
    after = _repair(redacted, received, fixes)
    where.mkdir(parents=True, exist_ok=True)
    folder = _new_folder(where, redacted.name)
    kind = "sse" if capture.is_stream else "json"
    (folder / f"response.{kind}").write_bytes(received)
    (folder / f"expected.{kind}").write_bytes(after.out)
    names = [fix.name for fix in fixes if fix.name in after.fixes]
    names += [name for name in after.fixes if name not in names]
    about = "".join(f"{line}\n" for line in _about(redacted, names, fill=fill))
    (folder / "about.toml").write_text(about, encoding="utf-8")
    return Written(folder, dict(after.fixes.most_common()), before.fixes != after.fixes)


def _family(host: str) -> str:
    """Return whose host it is, without the name of a customer in it."""
    name = urlsplit(f"//{host}").hostname or ""
    for known in map(HostPattern.parse, HOSTS):
        if known.matches(name, None):
            return str(known).replace("*.", "")
    return "host"


def _repair(capture: Capture, received: bytes, fixes: Sequence[type[Fix]]) -> Repaired:
    return repair(
        received,
        _asked(capture),
        fixes,
        native=capture.native,
        status=capture.status,
        is_stream=capture.is_stream,
        is_complete=capture.is_complete,
    )


def _asked(capture: Capture) -> Asked:
    """The request as `about.toml` states it: no flow, no time."""
    asked = capture.asked
    return Asked(**{name: getattr(asked, name) for name in _asked_names(asked)})


_UNSTATED = ("id", "time", "declared")
"""What of a request no folder says: a flow, a time, the names of tools."""


def _asked_names(asked: Asked) -> Iterator[str]:
    """Yield the names of the fields of *asked* that differ from their defaults."""
    for each in fields(asked):
        is_default = getattr(asked, each.name) == each.default
        if each.name == "stream" or not (is_default or each.name in _UNSTATED):
            yield each.name


def _new_folder(where: Path, name: str) -> Path:
    """Make a folder of that name; with a number if there is one."""
    number = 1
    while True:
        folder = where / (name if number == 1 else f"{name}-{number}")
        try:
            folder.mkdir()
        except FileExistsError:
            number += 1
        else:
            return folder


def _about(capture: Capture, names: Sequence[str], *, fill: bool) -> Iterator[str]:
    model = capture.asked.model or "no model named"
    yield f"shape = {_quoted(f'{capture.host}, {model}')}"
    if capture.native is not None:
        yield f"protocol = {_quoted(capture.native.name)}"
    yield f"words = {_quoted('filler' if fill else 'as they were sent')}"
    yield f"date = {capture.date}"
    if capture.status != 200:  # noqa: PLR2004 - the default
        yield f"status = {capture.status}"
    if not capture.is_complete:
        yield "ended = false"
    yield "fixes = ["
    yield from (f"  {_quoted(name)}," for name in names)
    yield "]"
    yield ""
    yield "[asked]"
    for name in _asked_names(capture.asked):
        value = getattr(capture.asked, name)
        yield f"{name} = {_quoted(value) if isinstance(value, str) else json.dumps(value)}"


def _quoted(text: str) -> str:
    """Return *text* as a TOML string: JSON's escapes are TOML's, but for DEL."""
    plain = text.encode("utf-8", "replace").decode()
    return json.dumps(plain, ensure_ascii=False).replace("\x7f", "\\u007f")
