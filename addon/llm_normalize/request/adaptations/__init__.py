"""All adaptations, in the order in which they act on a request.

None depends on another; the order is that of a request's fields, and what is learned
comes last: of what the table knows, nothing is refused any more.
"""

from ..adaptation import Adaptation
from .assistant_content_null import AssistantContentNull
from .content_parts_refused import ContentPartsRefused
from .developer_role_unknown import DeveloperRoleUnknown
from .max_completion_tokens_unknown import MaxCompletionTokensUnknown
from .message_reasoning_refused import MessageReasoningRefused
from .message_reasoning_renamed import MessageReasoningRenamed
from .message_refusal_null import MessageRefusalNull
from .parameter_learned import ParameterLearned
from .penalty_default_refused import PenaltyDefaultRefused
from .prompt_cache_key_refused import PromptCacheKeyRefused
from .reasoning_refused import ReasoningRefused
from .store_refused import StoreRefused
from .stream_options_refused import StreamOptionsRefused
from .tool_stream_refused import ToolStreamRefused
from .tools_empty import ToolsEmpty

ADAPTATIONS: tuple[type[Adaptation], ...] = (
    # messages
    DeveloperRoleUnknown,
    ContentPartsRefused,
    AssistantContentNull,
    MessageRefusalNull,
    MessageReasoningRefused,
    MessageReasoningRenamed,
    # parameters
    MaxCompletionTokensUnknown,
    PromptCacheKeyRefused,
    StoreRefused,
    ReasoningRefused,
    ToolStreamRefused,
    ToolsEmpty,
    PenaltyDefaultRefused,
    StreamOptionsRefused,
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
        "`temperature` other than 1",
        "a provider that refuses it answers otherwise than the client wants.",
    ),
    (
        "a limit of tokens, unless its other name is known",
        "an answer without end costs money.",
    ),
    (
        "a refusal that names no parameter, or one that the request does not have",
        "its meaning is unknown.",
    ),
)
"""What is never dropped, though a provider refuses it, and why."""
