"""All adaptations, in the order in which they act on a request.

The order is that of a request's fields. What a refusal may ask for comes behind what
hosts are known to want: of that, nothing is refused any more. Among the forms, calls are
parted before messages are joined, and reasoning is put back into what that leaves.
"""

from typing import Any

from ..adaptation import Adaptation
from .hosts import fields, message_fields
from .messages.attachment_refused import AttachmentRefused
from .messages.message_empty import MessageEmpty
from .messages.message_reasoning_missing import MessageReasoningMissing
from .messages.roles_not_alternating import RolesNotAlternating
from .messages.system_message_late import SystemMessageLate
from .messages.system_message_refused import SystemMessageRefused
from .messages.thought_signature_missing import ThoughtSignatureMissing
from .messages.tool_call_id_refused import ToolCallIdRefused
from .messages.tool_calls_parallel import ToolCallsParallel
from .messages.user_after_tool import UserAfterTool
from .parameters.effort_without_thinking import EffortWithoutThinking
from .parameters.max_tokens_too_large import MaxTokensTooLarge
from .parameters.parameter_learned import ParameterLearned
from .parameters.reasoning_effort_unknown import ReasoningEffortUnknown
from .parameters.temperature_out_of_range import TemperatureOutOfRange
from .parameters.thinking_form_refused import ThinkingFormRefused
from .parameters.thinking_refused import ThinkingRefused
from .parameters.tool_schema_refused import ToolSchemaRefused
from .parameters.top_p_with_temperature import TopPWithTemperature


def _declared(names: dict[str, Any]) -> list[type[Adaptation]]:
    """Return the adaptations that a module's *names* declare, in their order."""
    found = (each for each in names.values() if isinstance(each, type))
    return [each for each in found if each.__module__ == names["__name__"]]


ADAPTATIONS: tuple[type[Adaptation], ...] = (
    *_declared(vars(message_fields)),
    *_declared(vars(fields)),
    # forms that a refusal asks for: of messages, the calls in them, parameters
    AttachmentRefused,
    SystemMessageLate,
    SystemMessageRefused,
    MessageEmpty,
    ToolCallsParallel,
    RolesNotAlternating,
    UserAfterTool,
    ToolCallIdRefused,
    MessageReasoningMissing,
    ThoughtSignatureMissing,
    ToolSchemaRefused,
    MaxTokensTooLarge,
    ReasoningEffortUnknown,
    TemperatureOutOfRange,
    TopPWithTemperature,
    EffortWithoutThinking,
    ThinkingRefused,
    ThinkingFormRefused,
    # what a provider has refused
    ParameterLearned,
)

NOT_DROPPED: tuple[tuple[str, str], ...] = (
    (
        "`messages`, `model`, `stream`, `stop`, `response_format`",
        "without them the answer is another one.",
    ),
    (
        "`tools` with something in it, a `tool_choice` that decides, calls and their ids",
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
        "the words of a message, and whose they are",
        "a form joins, moves and fills up messages, and takes none away that says something.",
    ),
    (
        "a refusal that names no parameter, or one that the request does not have",
        "its meaning is unknown.",
    ),
)
"""What is never dropped, though a provider refuses it, and why."""
