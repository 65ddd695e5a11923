"""Keys for hosts, and secrets: where they are.

They are read when they are needed, so that they may change.
"""

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from .hosts import HostPattern

HEADER = "authorization"
OTHER_HEADER = "x-api-key"
"""Where clients of Anthropic's protocol present theirs, without a scheme."""
_NOTE = re.compile(r"(?:^|\s)#")
_VARIABLE = re.compile("[A-Z_][A-Z0-9_]*")


@dataclass(frozen=True, slots=True)
class Secret:
    """Where a key is.

    Attributes:
        text: `env:NAME` or `file:PATH`.
    """

    text: str = field(repr=False)

    @classmethod
    def parse(cls, text: str, *, has_lines: bool = False) -> "Secret":
        """Return the secret that *text* names.

        Args:
            text: Where it is.
            has_lines: Whether there may be several: see `read_each`.

        Raises:
            ValueError: It names none. The message does not quote it: it may be a key.
        """
        kind, colon, name = text.partition(":")
        if kind not in ("env", "file") or not colon or not name:
            raise ValueError("expected env:NAME or file:PATH, not the key itself")
        made = cls(text)
        _ = made.read_each() if has_lines else made.read()
        return made

    def read(self) -> str:
        """Return the secret.

        Raises:
            ValueError: There is none. The message names the place, not the key.
        """
        return self._checked(self._read())

    def read_each(self) -> list[str]:
        """Return the secrets, one a line; whose it is may stand behind it, as a comment.

        Raises:
            ValueError: There is none, likewise.
        """
        return [self._checked(each) for each in self.lines() or [""]]

    def lines(self) -> list[str]:
        """Return what `read_each` returns, invalid lines as well.

        Raises:
            ValueError: They cannot be read.
        """
        lines = (_NOTE.split(line)[0] for line in self._read().splitlines())
        return [line.strip() for line in lines if line.strip()]

    def _read(self) -> str:
        kind, _, name = self.text.partition(":")
        if kind == "env":
            found = os.environ.get(name, "")
        else:
            try:
                found = Path(name).expanduser().read_text(encoding="utf-8")
            except (OSError, ValueError, RuntimeError) as error:
                why = getattr(error, "strerror", None) or type(error).__name__
                raise ValueError(f"the file cannot be read ({why})") from None
        return found

    def _checked(self, found: str) -> str:
        kind, _, name = self.text.partition(":")
        found = found.strip()
        if not found:
            # Who has written the key in the place of a name, has it not printed.
            named = f"variable {name}" if _VARIABLE.fullmatch(name) else "variable"
            raise ValueError(f"the {named if kind == 'env' else 'file'} is empty")
        if not (found.isascii() and found.isprintable()) or " " in found:
            raise ValueError("the key has characters that a header may not have")
        return found


@dataclass(frozen=True, slots=True)
class Keys:
    """The key for each host, the first that fits counts."""

    keys: Sequence[tuple[HostPattern, Secret]] = ()

    @classmethod
    def parse(cls, texts: Iterable[str]) -> "Keys":
        """Return the keys that *texts* name.

        Raises:
            ValueError: One of them names none; the message has its host alone.
        """
        keys = []
        for number, text in enumerate(texts, 1):
            host, equals, place = text.partition("=")
            try:
                pattern = HostPattern.parse(host) if equals else None
            except ValueError:
                pattern = None
            if pattern is None:
                raise ValueError(
                    f"value {number}: expected host=env:NAME or host=file:PATH"
                )
            try:
                keys.append((pattern, Secret.parse(place.strip())))
            except ValueError as error:
                raise ValueError(f"{pattern}: {error}") from None
        return cls(keys)

    def secret(self, host: str, port: int) -> Secret | None:
        """Return the secret for *host*, None if it has none."""
        for pattern, secret in self.keys:
            if pattern.matches(host, port):
                return secret
        return None
