"""Usage on chunks that are not the last."""

from collections.abc import Iterator

from ...chat.chunks.chunk import choices, usage_of
from ...chat.chunks.chunk_content import has_answer
from ...chat.conversion import counts
from ...chat.stream_state import Asked, Seen
from ...repair.ending.end_hook import EndHook
from ...repair.ending.end_state import EndState
from ...repair.fix import DONE, USAGE, Example, Fix, chunk
from ...repair.outcome import Outgoing
from ...wire.json_text import Json

_SOME = {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4}
_ZEROS = dict.fromkeys(USAGE, 0)
_TEXT = chunk({"role": "assistant", "content": "Hi"})
_STOP = chunk({}, finish="stop")
_LAST = chunk(None, usage=USAGE)
_ASKED = Asked(stream=True, usage=True)


class UsageEveryChunk(Fix):
    """Send usage once, in its own last chunk, if asked for; else only what comes once."""

    name = "usage-every-chunk"
    changes = "usage before a stream's end -> once, at its end; unasked on every chunk -> dropped"
    why = (
        "LangChain, pydantic-ai and smolagents add it up; Continue's adapters lose "
        "the whole text, and new-api a finish reason beside usage that nobody asked for."
    )
    providers = ("NVIDIA NIM", "vLLM (`continuous_usage_stats`)", "Workers AI")
    sources = (
        "https://docs.pipecat.ai/server/services/llm/nvidia",
        "https://github.com/open-webui/open-webui/issues/29064",
        "https://platform.openai.com/docs/api-reference/chat/create",
    )
    end_hooks = (
        EndHook.USAGE_BESIDE_CHOICES,
        EndHook.FINISH,
        EndHook.USAGE_ON_FINISH,
        EndHook.USAGE_UNASKED,
        EndHook.OVERTAKEN_FINISH,
    )
    examples = (
        Example(
            "asked for",
            [{**_TEXT, "usage": _SOME}, _STOP, _LAST, DONE],
            [{**_TEXT, "usage": None}, _STOP, _LAST, DONE],
            asked=_ASKED,
        ),
        Example(
            "asked for, and no last chunk",
            [{**_TEXT, "usage": USAGE}, _STOP, DONE],
            [{**_TEXT, "usage": None}, _STOP, _LAST, DONE],
            asked=_ASKED,
        ),
        Example(
            "not asked for",
            [{**_TEXT, "usage": _SOME}, {**_STOP, "usage": USAGE}, DONE],
            [_TEXT, _STOP, DONE],
        ),
        Example(
            "not asked for, once",
            [{**_TEXT, "usage": USAGE}, _STOP, DONE],
            [_TEXT, {**_STOP, "usage": USAGE}, DONE],
        ),
        Example(
            "not asked for, with zeros before",
            [{**_TEXT, "usage": _ZEROS}, {**_STOP, "usage": USAGE}, DONE],
            [_TEXT, {**_STOP, "usage": USAGE}, DONE],
        ),
        Example.untouched("last chunk", [_TEXT, _STOP, _LAST, DONE], asked=_ASKED),
        Example.untouched("with the finish", [_TEXT, {**_STOP, "usage": USAGE}, DONE]),
    )

    def __init__(self, asked: Asked, seen: Seen) -> None:
        super().__init__(asked, seen)
        # The figures that nobody asked for and that chunks with content have brought.
        self._figures = frozenset[str]()

    def at_end(self, hook: EndHook, end: EndState, outgoing: Outgoing) -> bool:
        """Take it off, also off a finish that turns out not to be the last.

        Figures that chunks with content have brought, and that come again, are on every
        chunk: none is sent. If they have come once, the finish waits for what follows.
        """
        chunk = outgoing.chunk
        if hook is EndHook.OVERTAKEN_FINISH:
            if usage_of(chunk) and not end.all_finished:
                end.take_usage_back(outgoing, self.name)
            return True
        if hook is EndHook.FINISH:
            return bool(self._figures) and end.all_finished and not end.usage_sent
        is_amid = hook is EndHook.USAGE_BESIDE_CHOICES
        is_figure = not self.asked.usage and counts(usage_of(chunk))
        found = frozenset(_names(usage_of(chunk))) if is_figure else frozenset()
        is_again = is_figure and bool(self._figures)
        if is_again:
            # Figures of the end alone, such as the cost, have come once: they are sent.
            is_again = is_amid or found <= self._figures
            self._drop(end, is_again=is_again)
        if is_amid:
            end.take_usage_off(outgoing, self.name)
            if any(map(has_answer, choices(chunk))):
                self._figures |= found
            return True
        if is_again and hook is EndHook.USAGE_ON_FINISH:
            end.take_usage_off(outgoing, self.name)
        elif is_again:
            outgoing.fixed(self.name)
            end.hold_extra_fields(chunk, self.name)
        return is_again

    def _drop(self, end: EndState, *, is_again: bool) -> None:
        """Let nothing be sent of the figures so far, and no later ones if *is_again*."""
        if end.finish is not None and usage_of(end.finish.chunk):
            end.take_usage_back(end.finish, self.name)
        end.mark_usage_sent()
        end.usage_sent = is_again


def _names(usage: Json, path: str = "") -> Iterator[str]:
    """Yield the paths of the figures in *usage*."""
    for key, value in usage.items() if isinstance(usage, dict) else ():
        if isinstance(value, dict):
            yield from _names(value, f"{path}{key}.")
        elif value is not None:
            yield path + key
