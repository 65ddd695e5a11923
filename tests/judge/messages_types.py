"""A message, and the events of a stream: written from the types of anthropic 2.12.0.

`python3 scripts/test.py --clients -k types --update-types` writes this file.
"""

from typing import Any, Literal, NotRequired, TypedDict


class TextBlock(TypedDict):
    citations: NotRequired[list[dict[str, Any]] | None]
    text: str
    type: Literal["text"]


class ThinkingBlock(TypedDict):
    signature: str
    thinking: str
    type: Literal["thinking"]


class ToolUseBlock(TypedDict):
    id: str
    caller: NotRequired[dict[str, Any] | None]
    input: dict[str, Any]
    name: str
    type: Literal["tool_use"]
    toolset_name: NotRequired[str | None]


class Usage(TypedDict):
    cache_creation: NotRequired[dict[str, Any] | None]
    cache_creation_input_tokens: NotRequired[int | None]
    cache_read_input_tokens: NotRequired[int | None]
    inference_geo: NotRequired[str | None]
    input_tokens: int
    output_tokens: int
    output_tokens_details: NotRequired[dict[str, Any] | None]
    server_tool_use: NotRequired[dict[str, Any] | None]
    service_tier: NotRequired[Literal["standard", "priority", "batch"] | None]
    speed: NotRequired[Literal["standard", "fast"] | None]


class Message(TypedDict):
    id: str
    container: NotRequired[dict[str, Any] | None]
    content: list[TextBlock | ThinkingBlock | ToolUseBlock]
    diagnostics: NotRequired[dict[str, Any] | None]
    model: str
    role: Literal["assistant"]
    stop_details: NotRequired[dict[str, Any] | None]
    stop_reason: NotRequired[
        Literal[
            "end_turn",
            "max_tokens",
            "stop_sequence",
            "tool_use",
            "pause_turn",
            "refusal",
            "model_context_window_exceeded",
        ]
        | None
    ]
    stop_sequence: NotRequired[str | None]
    type: Literal["message"]
    usage: Usage


class RawMessageStartEvent(TypedDict):
    message: Message
    type: Literal["message_start"]


class RawContentBlockStartEvent(TypedDict):
    content_block: TextBlock | ThinkingBlock | ToolUseBlock
    index: int
    type: Literal["content_block_start"]


class TextDelta(TypedDict):
    text: str
    type: Literal["text_delta"]


class InputJSONDelta(TypedDict):
    partial_json: str
    type: Literal["input_json_delta"]


class ThinkingDelta(TypedDict):
    thinking: str
    type: Literal["thinking_delta"]


class SignatureDelta(TypedDict):
    signature: str
    type: Literal["signature_delta"]


class RawContentBlockDeltaEvent(TypedDict):
    delta: TextDelta | InputJSONDelta | ThinkingDelta | SignatureDelta
    index: int
    type: Literal["content_block_delta"]


class RawContentBlockStopEvent(TypedDict):
    index: int
    type: Literal["content_block_stop"]


class Delta(TypedDict):
    container: NotRequired[dict[str, Any] | None]
    stop_details: NotRequired[dict[str, Any] | None]
    stop_reason: NotRequired[
        Literal[
            "end_turn",
            "max_tokens",
            "stop_sequence",
            "tool_use",
            "pause_turn",
            "refusal",
            "model_context_window_exceeded",
        ]
        | None
    ]
    stop_sequence: NotRequired[str | None]


class MessageDeltaUsage(TypedDict):
    cache_creation_input_tokens: NotRequired[int | None]
    cache_read_input_tokens: NotRequired[int | None]
    input_tokens: NotRequired[int | None]
    output_tokens: int
    output_tokens_details: NotRequired[dict[str, Any] | None]
    server_tool_use: NotRequired[dict[str, Any] | None]


class RawMessageDeltaEvent(TypedDict):
    delta: Delta
    type: Literal["message_delta"]
    usage: MessageDeltaUsage


class RawMessageStopEvent(TypedDict):
    type: Literal["message_stop"]


ErrorType = Literal[
    "invalid_request_error",
    "authentication_error",
    "billing_error",
    "permission_error",
    "not_found_error",
    "rate_limit_error",
    "timeout_error",
    "api_error",
    "overloaded_error",
    "memory_precondition_failed_error",
    "memory_path_conflict_error",
    "conflict_error",
]
