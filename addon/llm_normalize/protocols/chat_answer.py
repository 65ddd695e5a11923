"""An answer of chat, as both translations read it.

A whole one is the one chunk of a stream that says the same, or a failure: the repair puts an
error beside what has been said, or a finish reason that says so. Status and form are those
of an answer, so who reads no further takes it for one. In a stream, blanks wait for words.
"""

from ..wire.json_text import as_object, objects_in
from .protocol import JsonObject

_MOST = 1000
"""Characters: nobody shows more of them by mistake."""


def chunk_of(completion: JsonObject) -> JsonObject:
    """Return the chunk that says what a `chat.completion` says."""
    choices = objects_in(completion.get("choices"))
    return {**completion, "choices": [_choice(each) for each in choices]}


def _choice(choice: JsonObject) -> JsonObject:
    message = {**as_object(choice.get("message"))}
    calls = objects_in(message.get("tool_calls"))
    message["tool_calls"] = [{**call, "index": at} for at, call in enumerate(calls)]
    return {**choice, "delta": message}


def failure_in(completion: JsonObject) -> JsonObject | None:
    """Return the error in an answer whose choice has failed."""
    found = [completion, *objects_in(completion.get("choices"))]
    error = next(filter(None, (each.get("error") for each in found)), None)
    return {"message": error} if isinstance(error, str) else as_object(error) or None


class BlankText:
    """Holds blanks until words follow them: before a call, they say nothing.

    Models write some between their thoughts and a call, and clients show one as a message
    of its own.

    Args:
        most: Characters that it holds at most.
    """

    def __init__(self, most: float = _MOST) -> None:
        self._most = most
        self._held: list[str] = []
        self._size = 0

    def before(self, text: str) -> str:
        """The text to send now that *text* has arrived; empty while all of it is blank."""
        self._held.append(text)
        self._size += len(text)
        return self.take() if text.strip() or self._size > self._most else ""

    def take(self) -> str:
        """The held text, which is no longer held."""
        held = "".join(self._held)
        self._held.clear()
        self._size = 0
        return held
