"""Keys for hosts, and the token that clients have to present.

They are read when they are needed, so that they may change.
"""

import hmac
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mitmproxy import http

from .echo import MASK
from .letters import places_of
from .selection import HostPattern

HEADER = "authorization"
_VARIABLE = re.compile("[A-Z_][A-Z0-9_]*")


@dataclass(frozen=True, slots=True)
class Secret:
    """Where a key is.

    Attributes:
        text: `env:NAME` or `file:PATH`.
    """

    text: str = field(repr=False)

    @classmethod
    def parse(cls, text: str) -> "Secret":
        """Return the secret that *text* names.

        Raises:
            ValueError: It names none. The message does not quote it: it may be a key.
        """
        kind, colon, name = text.partition(":")
        if kind not in ("env", "file") or not colon or not name:
            raise ValueError("give env:NAME or file:PATH, not the key itself")
        made = cls(text)
        made.read()
        return made

    def read(self) -> str:
        """Return the secret.

        Raises:
            ValueError: There is none. The message names the place, not the key.
        """
        kind, _, name = self.text.partition(":")
        if kind == "env":
            found = os.environ.get(name, "")
        else:
            try:
                found = Path(name).expanduser().read_text(encoding="utf-8")
            except (OSError, ValueError, RuntimeError) as error:
                why = getattr(error, "strerror", None) or type(error).__name__
                raise ValueError(f"the file cannot be read ({why})") from None
        found = found.strip()
        if not found:
            # Who has written the key in the place of a name, has it not printed.
            named = f"variable {name}" if _VARIABLE.fullmatch(name) else "variable"
            raise ValueError(f"the {named if kind == 'env' else 'file'} is empty")
        if not (found.isascii() and found.isprintable()) or " " in found:
            raise ValueError("the key has characters that no header may have")
        return found


@dataclass(frozen=True)
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
                    f"value {number}: give host=env:NAME or host=file:PATH"
                )
            try:
                keys.append((pattern, Secret.parse(place.strip())))
            except ValueError as error:
                raise ValueError(f"{pattern}: {error}") from None
        return cls(keys)

    def secret(self, host: str, port: int) -> Secret | None:
        """Return the secret for *host*, None if it has none."""
        return next(
            (secret for pattern, secret in self.keys if pattern.matches(host, port)),
            None,
        )


def is_let_in(request: http.Request, token: str) -> bool:
    """Tell whether the client has presented *token*, and take it off.

    It takes as long whatever the client presents. The token goes no further, wherever it
    stands: in a path it becomes `***`, and what has it in a query or a header is dropped.
    """
    headers = request.headers
    scheme, _, said = str(headers.pop(HEADER, "")).partition(" ")
    for name in [
        name
        for name, value in headers.items()
        if name.lower() == "proxy-authorization" or _holds(f"{name}: {value}", token)
    ]:
        del headers[name]
    if _holds(request.authority, token):
        request.authority = ""
    path, mark, query = request.path.partition("?")
    fields = [each for each in query.split("&") if not _holds(each, token)]
    if _holds("&".join(fields), token):
        fields = []
    path = MASK if _holds(path, token) else path
    request.path = path + mark * bool(fields) + "&".join(fields)
    same = hmac.compare_digest(said.strip().encode(errors="replace"), token.encode())
    return same and scheme.lower() == "bearer"


def _holds(text: str, token: str) -> bool:
    """Tell whether *token* is in *text*, however it is spelled."""
    return token in text or bool(places_of(token, text))
