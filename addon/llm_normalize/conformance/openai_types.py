"""A chat completion, and a chunk of one: written from the types of openai 3.51.0.

`python3 scripts/test.py --clients -k types --update-types` writes this file.
"""

from typing import Literal, NotRequired, TypedDict


class ChoiceDeltaAudio(TypedDict):
    id: NotRequired[str | None]
    data: NotRequired[str | None]
    expires_at: NotRequired[int | None]
    transcript: NotRequired[str | None]


class ChoiceDeltaFunctionCall(TypedDict):
    arguments: NotRequired[str | None]
    name: NotRequired[str | None]


class ChoiceDeltaToolCall(TypedDict):
    index: int
    id: NotRequired[str | None]
    function: NotRequired[ChoiceDeltaFunctionCall | None]
    type: NotRequired[Literal["function"] | None]


class ChoiceDelta(TypedDict):
    audio: NotRequired[ChoiceDeltaAudio | None]
    content: NotRequired[str | None]
    function_call: NotRequired[ChoiceDeltaFunctionCall | None]
    refusal: NotRequired[str | None]
    role: NotRequired[
        Literal["developer", "system", "user", "assistant", "tool"] | None
    ]
    tool_calls: NotRequired[list[ChoiceDeltaToolCall] | None]


class TopLogprob(TypedDict):
    token: str
    bytes: NotRequired[list[int] | None]
    logprob: float


class ChatCompletionTokenLogprob(TypedDict):
    token: str
    bytes: NotRequired[list[int] | None]
    logprob: float
    top_logprobs: list[TopLogprob]


class ChoiceLogprobs(TypedDict):
    content: NotRequired[list[ChatCompletionTokenLogprob] | None]
    refusal: NotRequired[list[ChatCompletionTokenLogprob] | None]


class Choice(TypedDict):
    delta: ChoiceDelta
    index: int
    finish_reason: NotRequired[
        Literal["stop", "length", "tool_calls", "content_filter", "function_call"]
        | None
    ]
    logprobs: NotRequired[ChoiceLogprobs | None]


class ModerationInputModerationResultsResult(TypedDict):
    categories: dict[str, bool]
    category_applied_input_types: dict[str, list[Literal["text", "image"]]]
    category_scores: dict[str, float]
    flagged: bool
    model: str
    type: Literal["moderation_result"]


class ModerationInputModerationResults(TypedDict):
    model: str
    results: list[ModerationInputModerationResultsResult]
    type: Literal["moderation_results"]


class ModerationInputError(TypedDict):
    code: str
    message: str
    type: Literal["error"]


class Moderation(TypedDict):
    input: ModerationInputModerationResults | ModerationInputError
    output: ModerationInputModerationResults | ModerationInputError


class CompletionTokensDetails(TypedDict):
    accepted_prediction_tokens: NotRequired[int | None]
    audio_tokens: NotRequired[int | None]
    reasoning_tokens: NotRequired[int | None]
    rejected_prediction_tokens: NotRequired[int | None]
    text_tokens: NotRequired[int | None]


class PromptTokensDetails(TypedDict):
    audio_tokens: NotRequired[int | None]
    cache_write_tokens: NotRequired[int | None]
    cached_tokens: NotRequired[int | None]
    image_tokens: NotRequired[int | None]
    text_tokens: NotRequired[int | None]


class CompletionUsage(TypedDict):
    completion_tokens: int
    prompt_tokens: int
    total_tokens: int
    completion_tokens_details: NotRequired[CompletionTokensDetails | None]
    prompt_tokens_details: NotRequired[PromptTokensDetails | None]


class ChatCompletionChunk(TypedDict):
    id: str
    choices: list[Choice]
    created: int
    model: str
    object: Literal["chat.completion.chunk"]
    moderation: NotRequired[Moderation | None]
    obfuscation: NotRequired[str | None]
    service_tier: NotRequired[
        Literal["auto", "default", "flex", "scale", "priority", "fast"] | None
    ]
    system_fingerprint: NotRequired[str | None]
    usage: NotRequired[CompletionUsage | None]


class AnnotationURLCitation(TypedDict):
    end_index: int
    start_index: int
    title: str
    url: str


class Annotation(TypedDict):
    type: Literal["url_citation"]
    url_citation: AnnotationURLCitation


class ChatCompletionAudio(TypedDict):
    id: str
    data: str
    expires_at: int
    transcript: str


class FunctionCall(TypedDict):
    arguments: str
    name: str


class ChatCompletionMessageFunctionToolCall(TypedDict):
    id: str
    function: FunctionCall
    type: Literal["function"]


class Custom(TypedDict):
    input: str
    name: str


class ChatCompletionMessageCustomToolCall(TypedDict):
    id: str
    custom: Custom
    type: Literal["custom"]


class ChatCompletionMessage(TypedDict):
    content: NotRequired[str | None]
    refusal: NotRequired[str | None]
    role: Literal["assistant"]
    annotations: NotRequired[list[Annotation] | None]
    audio: NotRequired[ChatCompletionAudio | None]
    function_call: NotRequired[FunctionCall | None]
    tool_calls: NotRequired[
        list[
            ChatCompletionMessageFunctionToolCall | ChatCompletionMessageCustomToolCall
        ]
        | None
    ]


class ChatCompletionChoice(TypedDict):
    finish_reason: Literal[
        "stop", "length", "tool_calls", "content_filter", "function_call"
    ]
    index: int
    logprobs: NotRequired[ChoiceLogprobs | None]
    message: ChatCompletionMessage


class ChatCompletion(TypedDict):
    id: str
    choices: list[ChatCompletionChoice]
    created: int
    model: str
    object: Literal["chat.completion"]
    metadata: NotRequired[dict[str, str] | None]
    moderation: NotRequired[Moderation | None]
    service_tier: NotRequired[
        Literal["auto", "default", "flex", "scale", "priority", "fast"] | None
    ]
    system_fingerprint: NotRequired[str | None]
    usage: NotRequired[CompletionUsage | None]
