"""The tool calls that a stream has sent: their ids, names, and arguments so far."""

import copy
import re
import zlib
from dataclasses import dataclass, field
from itertools import islice

from ...wire.json_text import Json, dumps
from ..chunks.chunk import LONG, Chunk, function, index_of, name_of
from .declared_tools import NONE, Tools
from .repeated_arguments import begins_object, is_blank, is_cut, is_repeat, may_go_on

_PARTS = 256  # of arguments before they are joined: a part takes 50 bytes more
_ESCAPE = re.compile(r"\\.", re.DOTALL)
_NEXT = re.compile(r"\}\s*\{")
_BLANK = "{} \t\r\n"
_TRIES = 1024  # places where an object may follow another
_MOST = 64  # objects in one fragment, and characters of an empty one


def brief(identity: Json) -> str:
    """Return *identity* as a text, its hash if it is long: stored data must stay bounded."""
    if not isinstance(identity, str):
        identity = dumps(identity).decode() if identity else ""
    return f"#{hash(identity)}" if len(identity) > LONG else identity


@dataclass(slots=True)
class SentCall:
    """A tool call that a choice has opened.

    Attributes:
        id: Its id as a text, or the hash of a long one; empty while it has none.
        name: Its name, likewise.
        length: How many bytes of arguments it has.
        check: Their CRC-32: stored data must stay bounded.
        custom: Whether it calls a custom tool, whose input is any text.
        more: Parts of its name that were sent later.
        is_hit: Whether a lost event may have had some of its arguments.
        is_shared: Whether another call was sent under its index.
        begins_late: Whether an event was lost before its arguments.
    """

    id: Json
    name: Json
    length: int = 0
    check: int = 0
    custom: bool = False
    more: str = ""
    is_hit: bool = False
    is_shared: bool = False
    begins_late: bool = False
    room: int = field(default=0, compare=False)
    """Characters of its arguments that may still be stored: see `arguments`."""
    _parts: list[str] = field(default_factory=list, compare=False)
    _open: int = 0  # open brackets
    _has_opened: bool = False  # whether there was a bracket
    _quoted: bool = False
    _escaped: str = ""  # a backslash whose character has not been received
    _is_whole: bool = False  # one was lost behind them

    def __post_init__(self) -> None:
        self.id = brief(self.id)
        self.name = brief(self.name)

    @property
    def is_complete(self) -> bool:
        """Whether the arguments are an object that has been closed."""
        return self._has_opened and not self._open and not self._quoted

    @property
    def is_hollow(self) -> bool:
        """Whether it has a name, and no arguments."""
        return bool(self.name) and not (self.length or self.custom)

    @property
    def is_cut(self) -> bool:
        """Whether the arguments are the begin of an object, and not all of it."""
        if self.custom or self.is_complete:
            return False
        text = self.arguments
        return self._has_opened if text is None else is_cut(text)

    @property
    def full_name(self) -> str:
        """Its name, including the parts that were sent later."""
        return str(self.name) + self.more

    def rest_of_name(self, given: Json, tools: Tools) -> str:
        """Return the unsent part of a name that is received later; empty if none.

        After a declared name nothing counts, unless both together are a declared name.
        """
        known = self.full_name
        if not isinstance(given, str) or given in ("", self.name, known):
            return ""
        rest = given.removeprefix(known)
        if known in tools.names and known + rest not in tools.names:
            return ""
        return rest

    def is_renamed(self, fragment: Chunk, tools: Tools) -> bool:
        """Tell whether *fragment* has the name of another of the declared *tools*.

        A prefix of a name, or the rest of it, is not another name before the arguments.
        """
        name, known = brief(name_of(fragment)), self.full_name
        if not self.name or name not in tools.names or name in (self.name, known):
            return False
        is_part = known + str(name) in tools.names or str(name).startswith(known)
        return self.length > 0 or not is_part

    def is_another(self, fragment: Chunk, tools: Tools = NONE) -> bool:
        """Tell whether *fragment* opens another call than this.

        A fragment with a name does if it has another id or the name of another of the
        declared *tools*, or if this call is complete and the fragment has another name,
        or complete arguments that are not these again.
        """
        name, identity = brief(name_of(fragment)), brief(fragment.get("id"))
        if not name or self.continues(fragment, tools):
            return False
        if (identity and identity != self.id) or self.is_renamed(fragment, tools):
            return True
        if not self.is_complete:
            return False
        arguments = function(fragment).get("arguments")
        other = SentCall(None, name)
        other.add(arguments)
        is_repeated = bool(identity) and self.has_sent(arguments or "")
        is_renamed = bool(self.name) and name not in (self.name, self.full_name)
        return is_renamed or (other.is_complete and not is_repeated)

    def continues(self, fragment: Chunk, tools: Tools) -> bool:
        """Tell whether the arguments in *fragment* are more of these, whatever its id.

        They are while these are not complete, without another name, and begin no object
        unless they are the first. Under the same name they are amid an object.
        """
        name, text = brief(name_of(fragment)), function(fragment).get("arguments")
        if not (isinstance(text, str) and text.strip() and self.name):
            return False
        is_over = self.is_complete or self.custom or self.full_name in tools.bare
        if is_over or (self.length and begins_object(text)):
            return False
        is_amid = bool(self._open) and begins_object(self.arguments or "{")
        return not name or (is_amid and name in (self.name, self.full_name))

    def lose(self) -> None:
        """Record that an event was lost: it may have had arguments of this call.

        It had none if they are whole before it, or begin and end behind it.
        """
        is_blank = self.arguments == "{}"  # it may not have been all of them
        self._is_whole = self.is_complete and not (self.begins_late or is_blank)
        self.begins_late = self.begins_late or not self.length
        if self.custom or (self.length and not self._is_whole):
            self.is_hit = True

    def copied(self) -> "SentCall":
        """Return the same call, to which more can be added."""
        made = copy.copy(self)
        made._parts = [*self._parts]  # noqa: SLF001
        return made

    def cut(self, arguments: str) -> list[str]:
        """Return *arguments*, which come next, cut where an object follows another.

        Empty objects stay with what follows them.
        """
        if not (self.name and _NEXT.search(arguments)):
            return [arguments]  # nearly always
        probe, parts, begin, at = self.copied(), list[str](), 0, 0
        for found in islice(_NEXT.finditer(arguments), _TRIES):
            end = found.end() - 1
            probe.add(arguments[at:end])
            at = end
            piece = arguments[begin : min(end, begin + _MOST)]
            says_nothing = begins_object(piece) and not piece.strip(_BLANK)
            if probe.is_complete and not says_nothing and len(parts) < _MOST:
                parts.append(arguments[begin:end])
                begin = end
        return [*parts, arguments[begin:]]

    def begins_another(self, arguments: str) -> bool:
        """Tell whether *arguments*, no repeat of what was sent, begin another object.

        An empty one may have been sent before the arguments were known, and of a long one
        nobody can tell. What is no JSON, though its brackets are closed, is not complete.
        """
        if not (self.name and self.is_complete) or self.custom:
            return False
        if self._is_whole:  # an event was lost since, which may have opened that call
            return False
        own = self.arguments
        known = own is not None and may_go_on(own) and not is_blank(own)
        return known and begins_object(arguments) and may_go_on(arguments)

    def goes_on(self, arguments: str) -> bool:
        """Tell whether *arguments* are more of an object, and no other may begin in them."""
        if not (self.name and self.length) or self.is_complete:
            return False
        return not (begins_object(arguments) or ("{" in arguments and "}" in arguments))

    def takes(self, arguments: str) -> bool:
        """Record *arguments* if they are more of an object; tell whether they are."""
        if is_more := self.goes_on(arguments):
            self.add(arguments)
        return is_more

    def add(self, arguments: Json) -> None:
        """Record *arguments* that were sent."""
        if isinstance(arguments, str) and arguments:
            begins_late = self.begins_late and not self.length
            begins_inside = begins_late and not arguments.lstrip().startswith("{")
            if begins_inside or (self._is_whole and arguments.strip()):
                self.is_hit = True
            data = arguments.encode(errors="surrogatepass")
            self.length += len(data)
            self.check = zlib.crc32(data, self.check)
            self._follow(arguments)
            self.room -= len(arguments)
            self._parts.append(arguments)
            if self.room < 0:
                self._parts.clear()
            elif len(self._parts) > _PARTS:
                self._parts[:] = ["".join(self._parts)]

    @property
    def arguments(self) -> str | None:
        """Its arguments so far; None if they are too long to be stored."""
        return "".join(self._parts) if self.room >= 0 else None

    @property
    def is_quoted(self) -> bool:
        """Whether its arguments end within a string."""
        return self._quoted

    def forget_arguments(self) -> None:
        """Record that no arguments were sent: those that were due are dropped."""
        self.length = self.check = self._open = 0
        self._parts.clear()
        self._has_opened = self._quoted = False

    def _follow(self, arguments: str) -> None:
        """Count the brackets outside of strings."""
        text = _ESCAPE.sub("", self._escaped + arguments)
        self._escaped = text[-1:] if text.endswith("\\") else ""
        parts = text.split('"')
        outside = "".join(parts[self._quoted :: 2])
        self._quoted ^= len(parts) % 2 == 0
        opened = outside.count("{") + outside.count("[")
        self._has_opened |= opened > 0
        self._open += opened
        self._open -= outside.count("}") + outside.count("]")

    def has_sent(self, arguments: str) -> bool:
        """Tell whether *arguments* repeat what was sent, in any spelling."""
        return self.has_arguments(arguments) or is_repeat(self, arguments)

    def has_arguments(self, arguments: str) -> bool:
        """Tell whether *arguments* equal all that was sent."""
        data = arguments.encode(errors="surrogatepass")
        return len(data) == self.length and zlib.crc32(data) == self.check


_NO_IDS: frozenset[str] = frozenset()
"""Those of most answers: an empty set takes 216 bytes of each stream."""


class SentCalls(dict[int, SentCall]):
    """The calls of a choice, by the index under which they were sent."""

    __slots__ = ("_own", "ids", "last", "plain")

    def __init__(self) -> None:
        super().__init__()
        self.last = -1
        """The highest index; -1 without any."""
        self.plain = -1
        """The index of the call whose arguments are sent as received; -1 if of none."""
        self.ids = _NO_IDS
        """The ids of all of them."""
        self._own: set[int] | None = None  # the calls that a draft has copied

    def with_id(self, identity: str) -> int | None:
        """The index of the call with this id, if one was sent."""
        if identity not in self.ids:
            return None
        return next(at for at, each in self.items() if each.id == identity)

    def note(self, fragment: Chunk, room: int) -> bool:
        """Record a *fragment* as it is sent; tell whether it opens a call.

        There is *room* for so many characters of its arguments; if 0, none may open.
        """
        at, name = index_of(fragment), name_of(fragment)
        identity = brief(fragment.get("id"))
        opened = self.get(at)
        is_new = opened is None
        if opened is None:
            if not room or not (identity or name or function(fragment)):
                return False
            opened = self[at] = SentCall(None, name, room=room)
            self.last = max(self.last, at)
        elif self._own is not None and at not in self._own:
            self._own.add(at)
            opened = self[at] = opened.copied()
        if identity and not opened.id:
            opened.id = identity
            self.ids |= {identity}
        rest = opened.rest_of_name(name, NONE) if opened.name and not is_new else ""
        opened.more += rest if len(opened.more) < LONG else ""
        opened.name = opened.name or brief(name)
        opened.custom = opened.custom or "custom" in fragment
        opened.add(function(fragment).get("arguments"))
        return is_new

    def draft(self) -> "SentCalls":
        """Return the same calls, to which more can be added without sending it."""
        made = SentCalls()
        made.update(self)
        made.last, made._own = self.last, set()
        made.ids = self.ids
        return made
