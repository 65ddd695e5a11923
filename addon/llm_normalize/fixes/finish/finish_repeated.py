"""A second finish reason for one choice."""

from ...chat.chunks.chunk import usage_of
from ...chat.finish_words import is_bare_finish
from ...repair.ending.end_hook import EndHook
from ...repair.ending.end_state import EndState
from ...repair.fix import DONE, Example, Fix, chunk
from ...repair.outcome import Outgoing

_TEXT = chunk({"role": "assistant", "content": "Hi"})
_STOP = chunk({}, finish="stop")


class FinishRepeated(Fix):
    """Send one finish reason for each choice, the first that is more than `stop`.

    Where the first has been sent already, it stands.
    """

    name = "finish-repeated"
    changes = "second `finish_reason` of a choice -> dropped"
    why = "Clients close the message twice, or take a `stop` that follows a `length`."
    providers = ("Workers AI", "Mistral gateways")
    sources = (
        "https://github.com/cloudflare/ai",
        "https://github.com/BerriAI/litellm/blob/main/litellm/litellm_core_utils/streaming_handler.py",
    )
    end_hooks = (EndHook.REPEATED_FINISH, EndHook.LAST_FINISH)
    examples = (
        Example(
            "twice",
            [_TEXT, chunk({}, finish="length"), _STOP, DONE],
            [_TEXT, chunk({}, finish="length"), DONE],
        ),
        Example(
            "stop, then more",
            [_TEXT, _STOP, chunk({}, finish="length"), DONE],
            [_TEXT, chunk({}, finish="length"), DONE],
        ),
        Example.untouched(
            "one for each choice",
            [
                _TEXT,
                chunk({"role": "assistant", "content": "Ho"}, index=1),
                _STOP,
                chunk({}, finish="stop", index=1),
                DONE,
            ],
        ),
    )

    def at_end(self, hook: EndHook, end: EndState, outgoing: Outgoing) -> bool:
        """Drop it, but for what the first one lacks."""
        if hook is EndHook.LAST_FINISH:
            return True
        if not is_bare_finish(outgoing.chunk):
            return False
        outgoing.fixed(self.name)
        end.overrule(outgoing.chunk, self.name)
        late = end.merge_into_first_finish(outgoing, self.name)
        end.hold_extra_fields(outgoing.chunk, self.name)
        if late is not None:
            end.add_extra_fields(late)
            end.sender.send(late)
        if usage_of(outgoing.chunk):
            end.hold_usage(outgoing.chunk, self.name)
        return True
