"""Words in place of events: an error, if the stream does not go on after them."""

from ...chat.errors.errors import sounds_failed
from ..outcome import Outgoing
from .state import State, Words

_MOST = 8  # events of words that are held


def hold(state: State, outgoing: Outgoing, fixes: list[str]) -> None:
    """Hold an error until the next event tells whether the stream goes on."""
    state.words += ((state.sender.hold(outgoing), fixes),)
    if len(state.words) > _MOST:
        _drop(state, state.words[-1][0])
        state.words = state.words[:-1]


def take(state: State) -> tuple[Words, ...]:
    """Hold none any more, and return those that were held."""
    words, state.words = state.words, ()
    return words


def drop(state: State) -> None:
    """Send a newline in place of each: the stream goes on."""
    for outgoing, _ in take(state):
        received = outgoing.record.before or b""
        if sounds_failed(received.decode(errors="replace")):
            state.seen.lose(words=True)  # they may stand in place of a chunk
        _drop(state, outgoing)


def _drop(state: State, words: Outgoing) -> None:
    state.sender.send(Outgoing(words.record, {}, b"\n"))
    state.sender.drop(words)
