"""A finish reason before the last words of its choice, often on every chunk.

This fix only has it held; `repair/ending/hold_and_release.py` decides when it is sent.
"""

from ...chat.chunks.chunk import choices, index_of
from ...chat.chunks.chunk_content import choice_has_content
from ...chat.finish_words import finished_of
from ...chat.stream_state import Asked
from ...repair.ending.end_hook import EndHook
from ...repair.ending.end_state import EndState
from ...repair.fix import DONE, Example, Fix, chunk
from ...repair.outcome import Outgoing

_OPEN = chunk({"role": "assistant", "content": "Hi"})
_ROLE = chunk({"role": "assistant", "content": ""})
_MORE = chunk({"content": "!"})
_STOP = chunk({}, finish="stop")


class FinishEarly(Fix):
    """Send it after the last words, unless it has been sent.

    It is held for the next event: at most 100 ms, unless its choice is likely to go on.
    """

    name = "finish-early"
    changes = "`finish_reason` before text of its choice -> after it"
    why = "Clients stop at the first one, after a word."
    providers = ("gcli2api", "Open WebUI's bridge to Ollama", "Gemini proxies")
    sources = (
        "https://github.com/su-kaka/gcli2api/issues/403",
        "https://github.com/open-webui/open-webui/issues/16377",
    )
    end_hooks = (EndHook.FINISH, EndHook.GOES_ON_FINISHED)
    examples = (
        Example(
            "text after it", [_OPEN, _STOP, _MORE, DONE], [_OPEN, _MORE, _STOP, DONE]
        ),
        Example(
            "before the first words",
            [_ROLE, _STOP, _MORE, DONE],
            [_ROLE, _MORE, _STOP, DONE],
            asked=Asked(stream=True, usage=True),
        ),
        Example.untouched("last", [_OPEN, _MORE, _STOP, DONE]),
    )

    def at_end(self, hook: EndHook, end: EndState, outgoing: Outgoing) -> bool:
        """Hold it, and send later chunks of its choice first.

        Only the last finish is held, unless nothing can be added to it.
        """
        if hook is EndHook.GOES_ON_FINISHED:
            assert end.finish is not None
            over = finished_of(end.finish.chunk)
            found = [each for each in choices(outgoing.chunk) if index_of(each) in over]
            if found and not any(map(choice_has_content, found)):
                return False
            end.overtake_finish(self.name)
            return True
        may_follow = self.asked.usage or not end.usage_sent
        waits = end.all_finished and (may_follow or end.is_doubtful(outgoing))
        return waits or end.lacks_arguments(outgoing)
