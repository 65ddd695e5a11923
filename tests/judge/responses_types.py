"""A response, and the events of a stream: written from the types of openai 3.51.0.

`python3 scripts/test.py --clients -k types --update-types` writes this file.
"""

from typing import Any, Literal, NotRequired, TypedDict


class ResponseError(TypedDict):
    code: str
    message: str
    misalignment: NotRequired[dict[str, Any] | None]
    param: NotRequired[str | None]
    type: NotRequired[str | None]


class IncompleteDetails(TypedDict):
    reason: NotRequired[
        Literal["max_output_tokens", "max_messages", "content_filter", "steered"] | None
    ]


class AnnotationURLCitation(TypedDict):
    end_index: int
    start_index: int
    title: str
    type: Literal["url_citation"]
    url: str


class LogprobTopLogprob(TypedDict):
    token: str
    bytes: list[int]
    logprob: float


class Logprob(TypedDict):
    token: str
    bytes: list[int]
    logprob: float
    top_logprobs: list[LogprobTopLogprob]


class ResponseOutputText(TypedDict):
    annotations: list[AnnotationURLCitation]
    text: str
    type: Literal["output_text"]
    logprobs: NotRequired[list[Logprob] | None]


class ResponseOutputRefusal(TypedDict):
    refusal: str
    type: Literal["refusal"]


class ResponseOutputMessage(TypedDict):
    id: str
    content: list[ResponseOutputText | ResponseOutputRefusal]
    role: Literal["assistant"]
    status: Literal["in_progress", "completed", "incomplete"]
    type: Literal["message"]
    phase: NotRequired[Literal["commentary", "final_answer"] | None]


ResponseFunctionToolCall = TypedDict(
    "ResponseFunctionToolCall",
    {
        "arguments": str,
        "call_id": str,
        "name": str,
        "type": Literal["function_call"],
        "id": NotRequired[str | None],
        "async": NotRequired[bool | None],
        "caller": NotRequired[dict[str, Any] | None],
        "namespace": NotRequired[str | None],
        "status": NotRequired[Literal["in_progress", "completed", "incomplete"] | None],
    },
)


class Summary(TypedDict):
    text: str
    type: Literal["summary_text"]


class ResponseReasoningItem(TypedDict):
    id: str
    summary: list[Summary]
    type: Literal["reasoning"]
    content: NotRequired[list[dict[str, Any]] | None]
    encrypted_content: NotRequired[str | None]
    status: NotRequired[Literal["in_progress", "completed", "incomplete"] | None]


ResponseCustomToolCall = TypedDict(
    "ResponseCustomToolCall",
    {
        "call_id": str,
        "input": str,
        "name": str,
        "type": Literal["custom_tool_call"],
        "id": NotRequired[str | None],
        "async": NotRequired[bool | None],
        "caller": NotRequired[dict[str, Any] | None],
        "namespace": NotRequired[str | None],
    },
)


class ResponseTextConfig(TypedDict):
    format: NotRequired[dict[str, Any] | None]
    verbosity: NotRequired[Literal["low", "medium", "high"] | None]


class InputTokensDetails(TypedDict):
    cache_write_tokens: int
    cached_tokens: int
    cache_write_tokens_details: NotRequired[dict[str, Any] | None]


class OutputTokensDetails(TypedDict):
    reasoning_tokens: int


class ResponseUsage(TypedDict):
    input_tokens: int
    input_tokens_details: InputTokensDetails
    output_tokens: int
    output_tokens_details: OutputTokensDetails
    total_tokens: int


class Response(TypedDict):
    id: str
    access_programs: NotRequired[dict[str, Any] | None]
    created_at: float
    error: NotRequired[ResponseError | None]
    incomplete_details: NotRequired[IncompleteDetails | None]
    instructions: NotRequired[str | list[dict[str, Any]] | None]
    metadata: NotRequired[dict[str, str] | None]
    model: str
    object: Literal["response"]
    output: list[
        ResponseOutputMessage
        | ResponseFunctionToolCall
        | ResponseReasoningItem
        | ResponseCustomToolCall
    ]
    parallel_tool_calls: bool
    temperature: NotRequired[float | None]
    tool_choice: Literal["none", "auto", "required"] | dict[str, Any]
    tools: list[dict[str, Any]]
    top_p: NotRequired[float | None]
    background: NotRequired[bool | None]
    completed_at: NotRequired[float | None]
    conversation: NotRequired[dict[str, Any] | None]
    image: NotRequired[dict[str, Any] | None]
    input_transformations: NotRequired[list[dict[str, Any]] | None]
    max_output_tokens: NotRequired[int | None]
    max_tool_calls: NotRequired[int | None]
    moderation: NotRequired[dict[str, Any] | None]
    previous_response_id: NotRequired[str | None]
    prompt: NotRequired[dict[str, Any] | None]
    prompt_cache_diagnostics: NotRequired[dict[str, Any] | None]
    prompt_cache_key: NotRequired[str | None]
    prompt_cache_options: NotRequired[dict[str, Any] | None]
    prompt_cache_retention: NotRequired[Literal["in_memory", "24h"] | None]
    reasoning: NotRequired[dict[str, Any] | None]
    safety_identifier: NotRequired[str | None]
    service_tier: NotRequired[
        Literal["auto", "default", "flex", "scale", "priority", "fast", "ultrafast"]
        | None
    ]
    status: NotRequired[
        Literal[
            "completed", "failed", "in_progress", "cancelled", "queued", "incomplete"
        ]
        | None
    ]
    text: NotRequired[ResponseTextConfig | None]
    tool_usage: NotRequired[dict[str, Any] | None]
    top_logprobs: NotRequired[int | None]
    truncation: NotRequired[Literal["auto", "disabled"] | None]
    usage: NotRequired[ResponseUsage | None]
    user: NotRequired[str | None]


class ResponseCreatedEvent(TypedDict):
    response: Response
    sequence_number: int
    type: Literal["response.created"]


class ResponseInProgressEvent(TypedDict):
    response: Response
    sequence_number: int
    type: Literal["response.in_progress"]


class ResponseCompletedEvent(TypedDict):
    response: Response
    sequence_number: int
    type: Literal["response.completed"]


class ResponseIncompleteEvent(TypedDict):
    response: Response
    sequence_number: int
    type: Literal["response.incomplete"]


class ResponseFailedEvent(TypedDict):
    response: Response
    sequence_number: int
    type: Literal["response.failed"]


class ResponseOutputItemAddedEvent(TypedDict):
    item: (
        ResponseOutputMessage
        | ResponseFunctionToolCall
        | ResponseReasoningItem
        | ResponseCustomToolCall
    )
    output_index: int
    sequence_number: int
    type: Literal["response.output_item.added"]


class ResponseOutputItemDoneEvent(TypedDict):
    item: (
        ResponseOutputMessage
        | ResponseFunctionToolCall
        | ResponseReasoningItem
        | ResponseCustomToolCall
    )
    output_index: int
    sequence_number: int
    type: Literal["response.output_item.done"]


class ResponseContentPartAddedEvent(TypedDict):
    content_index: int
    item_id: str
    output_index: int
    part: ResponseOutputText | ResponseOutputRefusal
    sequence_number: int
    type: Literal["response.content_part.added"]


class ResponseContentPartDoneEvent(TypedDict):
    content_index: int
    item_id: str
    output_index: int
    part: ResponseOutputText | ResponseOutputRefusal
    sequence_number: int
    type: Literal["response.content_part.done"]


class ResponseReasoningSummaryPartAddedEvent(TypedDict):
    item_id: str
    output_index: int
    part: Summary
    sequence_number: int
    summary_index: int
    type: Literal["response.reasoning_summary_part.added"]


class ResponseReasoningSummaryPartDoneEvent(TypedDict):
    item_id: str
    output_index: int
    part: Summary
    sequence_number: int
    summary_index: int
    type: Literal["response.reasoning_summary_part.done"]
    status: NotRequired[Literal["incomplete"] | None]


class ResponseReasoningSummaryTextDeltaEvent(TypedDict):
    delta: str
    item_id: str
    output_index: int
    sequence_number: int
    summary_index: int
    type: Literal["response.reasoning_summary_text.delta"]


class ResponseReasoningSummaryTextDoneEvent(TypedDict):
    item_id: str
    output_index: int
    sequence_number: int
    summary_index: int
    text: str
    type: Literal["response.reasoning_summary_text.done"]


class ResponseTextDeltaEventLogprobTopLogprob(TypedDict):
    token: NotRequired[str | None]
    logprob: NotRequired[float | None]


class ResponseTextDeltaEventLogprob(TypedDict):
    token: str
    logprob: float
    top_logprobs: NotRequired[list[ResponseTextDeltaEventLogprobTopLogprob] | None]


class ResponseTextDeltaEvent(TypedDict):
    content_index: int
    delta: str
    item_id: str
    logprobs: list[ResponseTextDeltaEventLogprob]
    output_index: int
    sequence_number: int
    type: Literal["response.output_text.delta"]


class ResponseTextDoneEvent(TypedDict):
    content_index: int
    item_id: str
    logprobs: list[ResponseTextDeltaEventLogprob]
    output_index: int
    sequence_number: int
    text: str
    type: Literal["response.output_text.done"]


class ResponseOutputTextAnnotationAddedEvent(TypedDict):
    annotation: NotRequired[AnnotationURLCitation | None]
    annotation_index: int
    content_index: int
    item_id: str
    output_index: int
    sequence_number: int
    type: Literal["response.output_text.annotation.added"]


class ResponseRefusalDeltaEvent(TypedDict):
    content_index: int
    delta: str
    item_id: str
    output_index: int
    sequence_number: int
    type: Literal["response.refusal.delta"]


class ResponseRefusalDoneEvent(TypedDict):
    content_index: int
    item_id: str
    output_index: int
    refusal: str
    sequence_number: int
    type: Literal["response.refusal.done"]


class ResponseFunctionCallArgumentsDeltaEvent(TypedDict):
    delta: str
    item_id: str
    output_index: int
    sequence_number: int
    type: Literal["response.function_call_arguments.delta"]


class ResponseFunctionCallArgumentsDoneEvent(TypedDict):
    arguments: str
    item_id: str
    output_index: int
    sequence_number: int
    type: Literal["response.function_call_arguments.done"]


class ResponseCustomToolCallInputDeltaEvent(TypedDict):
    delta: str
    item_id: str
    output_index: int
    sequence_number: int
    type: Literal["response.custom_tool_call_input.delta"]


class ResponseCustomToolCallInputDoneEvent(TypedDict):
    input: str
    item_id: str
    output_index: int
    sequence_number: int
    type: Literal["response.custom_tool_call_input.done"]
