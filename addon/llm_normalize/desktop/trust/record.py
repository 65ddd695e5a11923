"""What was installed where, remembered so that exactly that can be removed.

An entry is written before anything is done, so that what a killed start has done is in
it, too.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ...records import private_file
from .authority import folder
from .certificate import Certificate, read

FILE = "trust.json"


class RecordError(Exception):
    """Why the record cannot be used, as one sentence."""


@dataclass(frozen=True)
class Entry:
    """One certificate in one store.

    Attributes:
        store: The store's name.
        place: Where in it: a file, a database's folder, a keychain.
        pem: The certificate, which may be gone from mitmproxy's folder by then.
        when: Since when, in ISO 8601.
        created: Folders made for it, outermost first.
        before: What there was of it before: trust flags, "present" or nothing.
        nickname: What it is called in there, where that has to be remembered.
    """

    store: str
    place: str
    pem: str
    when: str = field(
        default_factory=lambda: datetime.now(UTC).isoformat("T", "seconds")
    )
    created: tuple[str, ...] = ()
    before: str = ""
    nickname: str = ""

    @property
    def certificate(self) -> Certificate:
        """The certificate."""
        return next(read(self.pem))

    @property
    def key(self) -> tuple[str, str, str]:
        """What there is one entry of."""
        return self.store, self.place, self.certificate.sha256


class TrustRecord:
    """The entries in `CONFDIR/normalize/trust.json`."""

    def __init__(self, confdir: Path) -> None:
        self.path = confdir / "normalize" / FILE
        self.confdir = confdir

    def entries(self) -> list[Entry]:
        """The installed certificates, the oldest first.

        Raises:
            RecordError: The file cannot be read.
        """
        try:
            given = json.loads(self.path.read_text(encoding="utf-8"))
            return [_entry(each) for each in given["installed"]]
        except FileNotFoundError:
            return []
        except OSError as error:
            raise RecordError(f"{self.path}: {error.strerror}") from error
        except (ValueError, KeyError, TypeError, StopIteration) as error:
            raise RecordError(
                f"{self.path} is damaged: what is installed is not known. `status` "
                "shows which stores trust the CA; remove that file to begin anew."
            ) from error

    def find(self, key: tuple[str, str, str]) -> Entry | None:
        """The entry of *key*, None without one."""
        return next((each for each in self.entries() if each.key == key), None)

    def keep(self, entry: Entry) -> None:
        """Write *entry* down, in the place of an older one of the same."""
        remaining = [each for each in self.entries() if each.key != entry.key]
        self._write([*remaining, entry])

    def drop(self, entry: Entry) -> None:
        """Forget *entry*; the file goes with the last one."""
        self._write([each for each in self.entries() if each.key != entry.key])

    def _write(self, entries: list[Entry]) -> None:
        try:
            if not entries:
                self.path.unlink(missing_ok=True)
                return
            folder(self.confdir)
            described = [
                {**asdict(each), "sha256": each.certificate.sha256} for each in entries
            ]
            text = json.dumps({"version": 1, "installed": described}, indent=1)
            private_file.write(self.path, text + "\n")
        except OSError as error:
            raise RecordError(f"{self.path}: {error.strerror or error}") from error


def _entry(given: dict[str, Any]) -> Entry:
    known = {name: given[name] for name in ("store", "place", "pem", "when")}
    known |= {name: given.get(name, "") for name in ("before", "nickname")}
    if not all(isinstance(value, str) for value in known.values()):
        raise TypeError(given)
    entry = Entry(**known, created=tuple(map(str, given.get("created", ()))))
    entry.certificate.x509  # noqa: B018 - ValueError if it is none
    return entry
