"""What the chat request asked for: what its answer is, and where it may differ."""

import hashlib
import json
from dataclasses import dataclass, field
from typing import Self

from ...wire.json_text import Json, RepeatedKeyError, loads, loads_request
from ..chunks.chunk import function
from ..chunks.text_growth import NO_GROWTH, Growth
from .declared_tools import NONE, Tools

_LONG_NUMBER = 600  # digits; `int` takes as many, however it is set


# Not frozen: that takes five times as long to make. Its hash lets it be a field's default.
@dataclass(unsafe_hash=True, slots=True)
class Asked:
    """What the chat request asked for. It does not change once its answer is read.

    Attributes:
        stream: `stream: true`.
        usage: `stream_options.include_usage: true`.
        tools: The request declares tools (or legacy functions).
        forced_tool: `tool_choice` names a function; OpenAI itself then ends with `stop`.
        model: The requested model, possibly empty.
        n: How many choices.
        id: Identifies the exchange of request and answer, for generated ids.
        time: When it took place, in seconds since 1970.
        strict: Only fields that OpenAI defines are sent (`normalize_strict`).
        is_mapped: The provider got another model name (`normalize_models`).
        declared: The tools that the request declares, by name.
        legacy: It declares `functions`, the form of 2023; calls then have that form, too.
        growth: Which texts are known to be cumulative at the provider, or to go on
            after a finish reason.
    """

    stream: bool = False
    usage: bool = False
    tools: bool = False
    forced_tool: bool = False
    model: str = ""
    n: int = 1
    id: str = ""
    time: int = 1
    strict: bool = False
    is_mapped: bool = False
    declared: Tools = NONE
    legacy: bool = False
    growth: Growth = field(default=NO_GROWTH, compare=False, repr=False)

    @classmethod
    def from_body(
        cls,
        body: bytes | None,
        *,
        exchange: str = "",
        time: int = 1,
        strict: bool = False,
    ) -> Self:
        """Read the request's *body*.

        Never raises: a body that is not JSON yields the defaults.

        Args:
            body: The body.
            exchange: Its `id`; this and the following are not in the body.
            time: When it took place.
            strict: Whether only fields that OpenAI defines are sent.
        """
        try:
            request = _read(body or b"")
        except (ValueError, RecursionError):
            request = None
        if not isinstance(request, dict):
            return cls(id=exchange, time=time, strict=strict)
        options = request.get("stream_options")
        forced = request.get("tool_choice") or request.get("function_call")
        model = request.get("model")
        n = request.get("n")
        has_tools = bool(request.get("tools") or request.get("functions"))
        return cls(
            stream=request.get("stream") is True,
            usage=isinstance(options, dict) and options.get("include_usage") is True,
            tools=has_tools,
            forced_tool=isinstance(forced, dict) and _names_function(forced),
            model=model if isinstance(model, str) else "",
            n=n if isinstance(n, int) and n > 1 else 1,
            id=exchange,
            time=time,
            strict=strict,
            declared=Tools.of(request) if has_tools else NONE,
            legacy=has_tools and bool(request.get("functions")),
        )

    def make_id(self, prefix: str, *place: int) -> str:
        """Return an id that is unique to the exchange, and the same for each *place*."""
        name = " ".join([self.id, *map(str, place)])
        return prefix + hashlib.sha256(name.encode()).hexdigest()[:24]


def _read(body: bytes) -> Json:
    try:
        return loads_request(body)
    except json.JSONDecodeError:
        raise
    except ValueError:  # an integer that is too long, mostly
        try:
            return loads(body)
        except RepeatedKeyError:
            # The last value counts, as elsewhere; that number stays text.
            return json.loads(body, parse_int=_integer)


def _integer(text: str) -> int | str:
    return int(text) if len(text) < _LONG_NUMBER else text


def _names_function(choice: dict[str, Json]) -> bool:
    return bool(function(choice).get("name") or choice.get("name"))
