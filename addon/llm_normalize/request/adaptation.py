"""The contract of an adaptation: one change of a request that its provider would refuse.

Like a fix it declares itself: what it changes, for whom, and how that is known. It takes
nothing away that the answer depends on, such as messages, tools or a format, unless the
request says the same in other words.
"""

import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from typing import ClassVar, Literal, Self

from ..routing.hosts import HostPattern
from ..wire.json_text import Json, dumps, objects_in

type Body = dict[str, Json]
"""A chat/completions request."""

HI: list[Json] = [{"role": "user", "content": "Hi"}]
"""Messages for examples and tests."""

type Edit = tuple[Literal["dropped", "changed"], str]
"""What became of a field, and its path: `seed`, `messages[*].name`. Never its value."""

DROPPED: Literal["dropped"] = "dropped"
CHANGED: Literal["changed"] = "changed"
CHAT, TRANSLATED, RESPONSES, MESSAGES = "chat", "translated", "responses", "messages"
"""How a request is sent: as chat was asked for, as chat for another protocol, or in that."""
WISHES = ("reasoning_effort", "reasoning", "thinking")
"""Fields that ask a model to think."""
UNWANTED: tuple[Json, ...] = (
    "none",
    {"effort": "none"},
    {"enabled": False},
    {"type": "disabled"},
)
"""What they say where it is not to."""
EVERY_FORM = (CHAT, TRANSLATED, RESPONSES, MESSAGES)
LEARNED = "parameter-learned"
"""Names what is learned from a provider's refusal (request/refusals/refusal_parser.py), in logs and options."""


@dataclass(frozen=True)
class RequestExample:
    """A request, and what is sent in its place.

    Attributes:
        name: What the example shows.
        before: The request as the client sends it.
        after: The same as the provider gets it.
        refusal: What the provider answers to `before`, of what is learned.
    """

    name: str
    before: Body
    after: Body
    refusal: bytes = b""

    @classmethod
    def untouched(cls, name: str, body: Body, refusal: bytes = b"") -> Self:
        """Return an example of what must pass unchanged."""
        return cls(name, body, body, refusal)

    @classmethod
    def of_messages(
        cls, name: str, before: list[Json], after: list[Json], refusal: bytes = b""
    ) -> Self:
        """Return an example of what becomes of messages."""
        return cls(name, {"messages": before}, {"messages": after}, refusal)

    @classmethod
    def of_fields(
        cls, name: str, before: Body, after: Body, refusal: bytes = b""
    ) -> Self:
        """Return an example of what becomes of fields beside a user's message."""
        return cls(name, {"messages": HI, **before}, {"messages": HI, **after}, refusal)

    @property
    def changes(self) -> bool:
        """Whether the example shows a change."""
        return self.before != self.after


@dataclass(frozen=True, slots=True)
class Recalled:
    """What a client may have left out of an answer that it sends back.

    Attributes:
        reasoning: The answer's reasoning.
        extra: Fields of a call that OpenAI does not define, such as its signature.
    """

    reasoning: str = ""
    extra: dict[str, Json] = field(default_factory=dict)


type Memory = Callable[[str, Json], Recalled | None]
"""Finds what is remembered of the answers that one client has got from one host.

By `call` and its id that of the answer with this call; by `text` and its content that of an
answer without calls.
"""


def no_memory(_kind: str, _name: Json) -> Recalled | None:
    """Remember nothing."""
    return None


class Adaptation:
    """One change of requests. A subclass overrides `edit`.

    Args:
        value: What the provider's refusal names: the highest limit, say.
        memory: What is remembered of earlier answers.
    """

    name: ClassVar[str]
    """`<field>-<defect>`; users skip it by this name, so it is never renamed."""
    changes: ClassVar[str]
    """The change, as `field -> what is sent`."""
    why: ClassVar[str]
    """What the provider answers otherwise."""
    hosts: ClassVar[tuple[str, ...]] = ()
    """Whom it is for, as `normalize_hosts` spells hosts; none: all that refuse."""
    models: ClassVar[str] = ""
    """A pattern that is in the names of the models it is for, in lower case."""
    needs_value: ClassVar[bool] = False
    """Whether it does nothing until a refusal has named a value."""
    sent_as: ClassVar[tuple[str, ...]] = (CHAT, TRANSLATED)
    """How the requests are sent that it is for."""
    is_remembered: ClassVar[bool] = True
    """Whether later requests get it at once; else each one has to be refused."""
    sources: ClassVar[tuple[str, ...]]
    """Where it was seen: issues, specifications, vendors' pages."""
    examples: "ClassVar[tuple[RequestExample, ...]]"

    def __init__(self, value: str = "", memory: Memory = no_memory) -> None:
        self.value = value
        self.memory = memory

    @classmethod
    def is_for(cls, host: str, port: int) -> bool:
        """Tell whether it is for requests to *host*."""
        return any(HostPattern.parse(each).matches(host, port) for each in cls.hosts)

    @classmethod
    def is_for_model(cls, model: Json) -> bool:
        """Tell whether it is for requests for *model*."""
        name = model.lower() if isinstance(model, str) else ""
        return bool(re.search(cls.models, name))

    def edit(self, body: Body) -> list[Edit]:
        """Change *body* in place; return what changed, nothing where it is as it was."""
        return []


@dataclass(frozen=True, slots=True)
class HostAdaptations:
    """The adaptations of the requests to one host.

    Attributes:
        own: Those that are for it, in order.
        wanted: The names of those that it gets whatever the model.
        learns: Whether what it refuses may be omitted.
        forms: Those that its refusals may ask for.
    """

    own: tuple[type[Adaptation], ...] = ()
    wanted: frozenset[str] = frozenset()
    learns: bool = False
    forms: tuple[type[Adaptation], ...] = ()

    def forms_for(self, sent_as: str) -> frozenset[str]:
        """Return the names of the forms that a request may be given which is sent so."""
        return frozenset(each.name for each in self.forms if sent_as in each.sent_as)

    @classmethod
    def of(
        cls,
        adaptations: Collection[type[Adaptation]],
        hosts: Collection[str],
        port: int,
        wanted: Collection[str] = (),
    ) -> Self:
        """Return those of *adaptations* that are for a host.

        Args:
            adaptations: Those that are not skipped, in order.
            hosts: Its names: either may be the one that is known.
            port: Its port.
            wanted: The names of those that are for it, whatever they are for otherwise.
        """
        own = tuple(
            each
            for each in adaptations
            if each.name in wanted or any(each.is_for(name, port) for name in hosts)
        )
        learns = any(each.name == LEARNED for each in adaptations)
        forms = tuple(adaptations) if learns else ()
        return cls(own, frozenset(wanted), learns, forms)


def drop(body: Body, key: str) -> list[Edit]:
    """Take *key* out of *body*, if it is there."""
    if key not in body:
        return []
    del body[key]
    return [(DROPPED, key)]


def messages(body: Body, *roles: str) -> Iterator[dict[str, Json]]:
    """Yield the messages of *body*, of these *roles* only if there are any."""
    for each in objects_in(body.get("messages")):
        if not roles or each.get("role") in roles:
            yield each


def replaced(body: Body, key: str, made: Json, path: str = "") -> list[Edit]:
    """Replace what *body* has at *key*, if that is something else.

    Args:
        body: The request.
        key: The key.
        made: What it is to have there.
        path: What changed, if not all of it.
    """
    if made == body.get(key):
        return []
    body[key] = made
    return [(CHANGED, path or key)]


def refused(message: str, **more: Json) -> bytes:
    """What a provider answers that refuses a request, for examples."""
    return dumps({"error": {"message": message, **more}})


def renamed(body: dict[str, Json], old: str, new: str) -> None:
    """Give the key *old* the name *new*, at its place."""
    items = list(body.items())
    body.clear()
    body.update((new if key == old else key, value) for key, value in items)
