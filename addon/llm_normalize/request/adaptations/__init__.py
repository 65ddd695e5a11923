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
    attachments.CharacterHalved,
    system_messages.SystemMessageLate,
    system_messages.SystemMessageRefused,
    system_messages.SystemMessageUnsupported,
    messages.MessageEmpty,
    tool_calls.ToolResultMissing,
    tool_calls.ToolCallsParallel,
    messages.RolesNotAlternating,
    messages.UserAfterTool,
    messages.AnswerLast,
    tool_calls.ToolCallIdDuplicated,
    tool_calls.ToolCallIdRefused,
    tool_calls.ToolCallArgumentsRefused,
    tools.ToolNameMissing,
    thinking.MessageReasoningMissing,
    messages.ThoughtsForeign,
    messages.MessageReasoningBeside,
    tool_calls.ThoughtSignatureMissing,
    tools.ToolChoiceRefused,
    tools.ToolNameRepeated,
    tools.ToolsMissing,
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
