"""The `response` object in the events of an answer that its provider tells itself, nearly."""

from collections.abc import Container, Sequence

from ....wire.json_text import Json, as_object, as_string, whole_number
from ...native_reader import NativeAsked
from ...protocol import JsonObject, make_id
from ...token_count import Counts, tokens_for
from ..response_object import error_of, frame_of, usage_of
from .form import Does

TERMINAL = {
    "response.completed": "completed",
    "response.incomplete": "incomplete",
    "response.failed": "failed",
}
"""The events that end a response, and its status then."""
_NEVER_NULL = (
    "id", "object", "created_at", "model", "status", "output",
    "parallel_tool_calls", "tool_choice", "tools", "text",
)  # fmt: skip
_REQUIRED = (
    *_NEVER_NULL, "incomplete_details", "metadata", "temperature", "top_p",
)  # fmt: skip
"""What the types of OpenAI's libraries require and no one that is right leaves out, and
`text`, without which typed clients give up."""
_OWN: JsonObject = {
    "error": None,
    "incomplete_details": None,
    "output": [],
    "usage": None,
    "completed_at": None,
}
"""What each event says anew."""
_ENVELOPE = ("created_at", "model")
UNFINISHED = ("queued", "in_progress")
"""The status of a response that goes on."""
_DETAILS = {
    "input_tokens_details": ("prompt_tokens_details", "cached_tokens"),
    "output_tokens_details": ("completion_tokens_details", "reasoning_tokens"),
}
"""The details of figures: what chat calls them, and what is always there."""
_CHAT = {"prompt_tokens": "input_tokens", "completion_tokens": "output_tokens"}


class NativeResponse:
    """Keeps the response of one answer whole, and the same in all of its events.

    Args:
        asked: What is known of the request.
        request: The request, which settles fields of the response.
        does: Tells which fixes are on.
    """

    def __init__(self, asked: NativeAsked, request: JsonObject, does: Does) -> None:
        self._asked = asked
        self._request = request
        self._does = does
        self._first: JsonObject = {}
        """What the first event says of it."""
        self._settled: Sequence[str] = ()
        """What later ones may not say otherwise."""
        self.tokens: tuple[int | None, int | None] = (None, None)

    def of(self, given: JsonObject, status: str) -> JsonObject:
        """A response as it is sent: *given* itself if it lacks nothing."""
        more: JsonObject = {}
        lacks = [key for key in _REQUIRED if _is_missing(given, key)]
        said = given.get("status", status)
        is_other = (said in UNFINISHED) is not (status in UNFINISHED)
        if (lacks or is_other) and self._does("response-fields-missing"):
            frame = {**self._frame(), **self._first, **_OWN, "status": status}
            more = {key: frame[key] for key in frame if _is_missing(given, key)}
            more |= {"status": status} if is_other else {}
        for key in self._settled if self._first else ():
            said, due = given.get(key), self._first.get(key)
            if key in given and said != due and self._does("response-id-changing"):
                more[key] = due
        made = {**given, **more} if more else given
        if not self._first:
            self._first = {key: each for key, each in made.items() if key != "usage"}
            self._settle(more)
        return made

    def _settle(self, made_up: Container[str]) -> None:
        """Keep what the first event has of the response, if it is *made_up*, or its id."""
        self._settled = ("id", *(key for key in _ENVELOPE if key in made_up))

    def progress(self, given: JsonObject) -> JsonObject:
        """The response at a beginning that is put in.

        Args:
            given: What the event behind it says of the response, if it does.
        """
        frame = {**self._frame(), **given, **self._first, **_OWN}
        if not self._first:
            self._first = frame
            self._settle({key for key in _ENVELOPE if not given.get(key)})
        return {**frame, "status": "in_progress"}

    def _frame(self) -> JsonObject:
        return {
            "id": f"resp_{make_id(self._asked.seed)}",
            "object": "response",
            "created_at": self._asked.created,
            "model": self._asked.model,
            **frame_of(self._request),
        }

    def failed(self, error: JsonObject) -> JsonObject:
        """The response that an *error* has ended."""
        frame = {**self._frame(), **self._first, **_OWN}
        return {**frame, "status": "failed", "error": error_of(error)}

    # -- figures -----------------------------------------------------------------------

    def with_usage(self, given: JsonObject, written: int) -> JsonObject:
        """A response that has ended, with its figures.

        Args:
            given: The response.
            written: How many bytes of text it has.
        """
        usage = given.get("usage")
        counted = as_object(usage)
        self.tokens = (
            _figure(counted, "input_tokens", "prompt_tokens"),
            _figure(counted, "output_tokens", "completion_tokens"),
        )
        made = self._usage(counted, written)
        if made == usage or not self._does("response-usage-missing"):
            return given
        return {**given, "usage": made}

    def _usage(self, given: JsonObject, written: int) -> JsonObject:
        prompt, completion = self.tokens
        if prompt is None:
            prompt = self._asked.count_prompt()
        if completion is None:
            completion = tokens_for(written)
        whole = usage_of(Counts(prompt, 0, 0, completion, 0, prompt + completion))
        chat = {*_CHAT, *(name for name, _ in _DETAILS.values())}
        usage = {**whole, **{key: given[key] for key in given if key not in chat}}
        for key, (name, needed) in _DETAILS.items():
            details = as_object(given.get(key)) or as_object(given.get(name))
            if details and whole_number(details.get(needed)) is None:
                details = {**details, needed: 0}
            usage[key] = details or whole[key]
        for key in ("input_tokens", "output_tokens", "total_tokens"):
            figure = whole_number(usage[key])
            usage[key] = whole[key] if figure is None else figure
        return usage


def response_in(value: JsonObject) -> JsonObject:
    """The response in an event: some have its fields in the event itself."""
    given = value.get("response")
    if isinstance(given, dict):
        return given
    return {
        key: value[key]
        for key in ("id", "model", "status", "output", "usage", "error")
        if key in value
    }


def is_response(value: JsonObject) -> bool:
    """Tell whether a body is a response: some do not say so. A compaction has output, too."""
    return value.get("object", "response") == "response" and "output" in value


def is_error(given: Json) -> bool:
    """Tell whether *given* is an error with a code and words."""
    error = as_object(given)
    return bool(as_string(error.get("code")) and as_string(error.get("message")))


def _is_missing(given: JsonObject, key: str) -> bool:
    return key not in given or (key in _NEVER_NULL and given[key] is None)


def _figure(usage: JsonObject, *names: str) -> int | None:
    found = (whole_number(usage.get(name)) for name in names)
    return next((each for each in found if each is not None), None)
