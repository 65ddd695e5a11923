"""All adaptations, in the order in which they act on a request.

The order is that of a request's fields. What a refusal may ask for comes behind what
hosts are known to want: of that, nothing is refused any more. Among the forms, calls are
parted before messages are joined, and reasoning is put back into what that leaves.
"""

from typing import Any

from ..adaptation import Adaptation
from . import (
    attachments,
    effort,
    host_fields,
    host_message_fields,
    learned,
    limits,
    messages,
    response_format,
    schemas,
    system_messages,
    thinking,
    tool_calls,
    tools,
)


def _declared(names: dict[str, Any]) -> list[type[Adaptation]]:
    """Return the adaptations that a module's *names* declare, in their order."""
    found = (each for each in names.values() if isinstance(each, type))
    return [each for each in found if each.__module__ == names["__name__"]]


ADAPTATIONS: tuple[type[Adaptation], ...] = (
    *_declared(vars(host_message_fields)),
    *_declared(vars(host_fields)),
    # forms that a refusal asks for: of messages, the calls in them, parameters
    attachments.AttachmentRefused,
    system_messages.SystemMessageLate,
    system_messages.SystemMessageRefused,
    system_messages.SystemMessageUnsupported,
    messages.MessageEmpty,
    tool_calls.ToolCallsParallel,
    messages.RolesNotAlternating,
    messages.UserAfterTool,
    messages.AnswerLast,
    tool_calls.ToolCallIdDuplicated,
    tool_calls.ToolCallIdRefused,
    tool_calls.ToolCallArgumentsRefused,
    tool_calls.ToolNameMissing,
    messages.MessageReasoningMissing,
    tool_calls.ThoughtSignatureMissing,
    tools.ToolChoiceRefused,
    tools.ToolNameRepeated,
    schemas.ToolSchemaRefused,
    response_format.ResponseFormatRefused,
    response_format.StreamRequired,
    limits.MaxTokensTooLarge,
    effort.ReasoningEffortUnknown,
    limits.TemperatureOutOfRange,
    limits.TopPWithTemperature,
    thinking.EffortWithoutThinking,
    thinking.ThinkingRefused,
    thinking.ThinkingFormRefused,
    # what a provider has refused
    learned.ParameterLearned,
)

NOT_DROPPED: tuple[tuple[str, str], ...] = (
    (
        "`messages`, `model`, `stream: true`, `stop`",
        "without them the answer is another one.",
    ),
    (
        "`response_format`, unless the refusal tells which is taken, and words say the rest",
        "a client that wants JSON cannot read an answer in prose.",
    ),
    (
        "`tools`, a `tool_choice` that decides, calls, unless what is left means the same",
        "an agent would wait for a call that never comes.",
    ),
    (
        "`n` above 1, `logprobs`, `top_logprobs`, `audio`, `modalities`",
        "the client reads what they ask for.",
    ),
    (
        "`temperature` other than 1, unless the refusal names the nearest that is taken",
        "a provider that refuses it answers otherwise than the client wants.",
    ),
    (
        "a limit of tokens, unless its other name is known, or the highest one",
        "an answer without end costs money.",
    ),
    (
        "the words of a message",
        "a form joins, moves and fills up; instructions become a user's where none are taken.",
    ),
    (
        "a refusal that names no parameter, or one that the request does not have",
        "its meaning is unknown.",
    ),
)
"""What is never dropped, though a provider refuses it, and why."""
