"""Models by other names: `gpt-4o*=meta/llama-3.1-405b-instruct`, `gpt-*=acme/gpt-*`."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ..wire.json_scanner import text_at
from ..wire.json_text import Json, dumps, value_in

MAPPED = "model-mapped"
"""Names the change of a request's model, among those of a request."""


def fits(pattern: str, name: str) -> bool:
    """Tell whether *name* is one that *pattern* means, in which `*` is anything."""
    parts = map(re.escape, pattern.split("*"))
    return bool(re.fullmatch(".*".join(parts), name, re.DOTALL))


def _respelled(name: str, pattern: str, other: str) -> str:
    """Return *other* with what the `*` of *pattern* means in *name* for its own."""
    head, _, tail = pattern.partition("*")
    return other.replace("*", name[len(head) : len(name) - len(tail)])


@dataclass(frozen=True, slots=True)
class Models:
    """The model that is sent for each that is asked for; the first that fits counts."""

    names: Sequence[tuple[str, str]] = ()

    @classmethod
    def parse(cls, texts: Iterable[str]) -> "Models":
        """Return the names that *texts* spell.

        Raises:
            ValueError: One of them spells none; the message names it.
        """
        names = []
        for text in texts:
            asked, equals, sent = (part.strip() for part in text.partition("="))
            if not (asked and equals and sent):
                raise ValueError(f"{text!r}: expected asked=sent")
            if "*" in sent and "*" not in asked:
                raise ValueError(
                    f"{text!r}: what is sent may have a * only if what is asked for has one"
                )
            if "*" in sent and not asked.count("*") == sent.count("*") == 1:
                raise ValueError(f"{text!r}: only one * on each side has a meaning")
            names.append((asked, sent))
        return cls(names)

    def sent(self, asked: str) -> str | None:
        """The name sent for the model *asked*; None if it is the same."""
        for pattern, sent in self.names:
            if fits(pattern, asked):
                found = _respelled(asked, pattern, sent)
                return found if found != asked else None
        return None

    def rename(self, body: bytes) -> tuple[bytes, str] | None:
        """Return a request's *body* with the model that is sent, and the one asked.

        All its other bytes stay. None if there is nothing to be changed.
        """
        asked = model_in(body) if self.names else None
        sent = self.sent(asked) if asked else None
        return (with_model(body, sent), asked) if sent and asked else None

    def listed(self, body: bytes, more: Iterable[tuple[str, str]] = ()) -> bytes | None:
        """Return a list of models (`GET /models`) with the names that may be asked for.

        None if it is no such list, or has them all.

        Args:
            body: The list.
            more: Names beside those of the mapping, and who serves them.
        """
        found = model_list(body)
        if found is None:
            return None
        value, listed = found
        names = (each.get("id") for each in listed if isinstance(each, dict))
        known = dict.fromkeys(name for name in names if isinstance(name, str))
        added: list[Json] = []
        for asked, owner in (*self._names_for([*known]), *more):
            if "*" not in asked and asked not in known:
                known[asked] = None
                added.append(
                    {"id": asked, "object": "model", "created": 0, "owned_by": owner}
                )
        if not added:
            return None
        value["data"] = [*listed, *added]
        return dumps(value)

    def _names_for(self, served: Iterable[str]) -> Iterator[tuple[str, str]]:
        """Yield the names that may be asked for where *served* are, and what they mean."""
        for asked, sent in self.names:
            if "*" not in sent:
                yield asked, sent
                continue
            for name in served:
                other = _respelled(name, sent, asked) if fits(sent, name) else name
                if self.sent(other) == name:
                    # Else an earlier mapping means another model.
                    yield other, name


def model_list(body: bytes) -> tuple[dict[str, Json], list[Json]] | None:
    """A list of models (`GET /models`), and what it lists; None if *body* is none."""
    value = value_in(body)
    listed = value.get("data") if isinstance(value, dict) else None
    return (value, listed) if isinstance(listed, list) else None


def with_model(body: bytes, model: str) -> bytes:
    """Return a request's *body*, which names a model, with another *model*."""
    text = body.decode()
    start, end = text_at(text, "model") or (0, 0)
    spelled = json.dumps(model, ensure_ascii=False)[1:-1]
    return f"{text[:start]}{spelled}{text[end:]}".encode()


def model_in(body: bytes) -> str | None:
    """Return the model that a request's *body* asks for; None if it names none."""
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return None
    start, end = text_at(text, "model") or (0, 0)
    return _read(text[start:end]) or None


def _read(raw: str) -> str | None:
    try:
        name = str(json.loads(f'"{raw}"'))
        name.encode()  # what is no text cannot be saved with a flow
    except ValueError:
        return None
    return name
