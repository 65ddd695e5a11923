from typing import Any

import pytest

from growth import MOST, growth
from llm_normalize.chat.errors.context_overflow import CODE, is_overflow
from llm_normalize.chat.errors.errors import status_of

# What servers have said, each in its own words.
OVERFLOWS = [
    "This model's maximum context length is 131072 tokens. However, you requested 133034 tokens (125034 in the messages, 8000 in the completion). Please reduce the length of the messages or completion.",
    "This model's maximum context length is 4097 tokens. However, your messages resulted in 4294 tokens. Please reduce the length of the messages.",
    "Invalid request: total message size 2100954 exceeds limit 2097152",
    "'max_tokens' or 'max_completion_tokens' is too large: 4096. This model's maximum context length is 32768 tokens and your request has 30000 input tokens (4096 > 32768 - 30000).",
    "The decoder prompt (length 5000) is longer than the maximum model length of 4096. Make sure that `max_model_len` is no smaller than the number of text tokens.",
    "You passed 5000 input tokens and requested 100 output tokens. However, the model's context length is only 4096 tokens, resulting in a maximum input length of 3996 tokens. Please reduce the length of the input prompt. (parameter=input_tokens, value=5000)",
    "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens and 20 `max_new_tokens`",
    "Input validation error: `inputs` must have less than 4095 tokens. Given: 5000",
    "request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it",
    "the request exceeds the available context size. try increasing the context size or enable context shift",
    "Requested tokens (5000) exceed context window of 4096",
    "prompt too long; exceeded max context length by 904 tokens",
    "the input length exceeds the context length",
    "Please reduce the length of the messages or completion.",
    "Please reduce the length of the messages or completion. Current length is 9000 while limit is 8192",
    "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
    'This endpoint\'s maximum context length is 131072 tokens. However, you requested about 140000 tokens (130000 of text input, 5000 of tool input, 5000 in the output). Please reduce the length of either one, or use the "middle-out" transform to compress your prompt automatically.',
    "The input (5000 tokens) is longer than the model's context length (4096 tokens).",
    "Requested token count exceeds the model's maximum context length of 4096 tokens. You requested a total of 5000 tokens: 4000 tokens from the input messages and 1000 tokens for the completion. Please reduce the number of tokens in the input messages or the completion to fit within the limit.",
    "Input length (5000 tokens) exceeds the maximum allowed length (4091 tokens). Use a shorter input or enable --allow-auto-truncate.",
    "The prompt is too long: 140000, model maximum context length: 131071",
    "Input is too long for requested model.",
    "prompt is too long: 215000 tokens > 200000 maximum",
    "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input length or `max_tokens` and try again",
    "Too many input tokens: 5000 > 4096",
    "Input Tokens Exceeded: Number of input tokens exceeds maximum length. Please update the input to try again.",
    "This model's maximum prompt length is 131072 but the request contains 140000 tokens.",
    "too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 5000. Try using a shorter prompt, or enable truncating.",
    "invalid params, context window exceeds limit (2013)",
    "Invalid request: Your request exceeded model token limit: 131072 (requested: 140000)",
    "Prompt exceeds max length",
    "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 30720]",
    "prompt token count of 140000 exceeds the limit of 128000",
    "Your input exceeds the context window of this model. Please adjust your input and try again.",
    "The input token count (1196265) exceeds the maximum number of tokens allowed (1048576).",
    "tokens in request more than max tokens allowed",
    "length of prompt_tokens (5000) must be less than max_seq_len (4096).",
    "Trying to keep the first 9000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough. Try to load the model with a larger context length, or provide a shorter input",
    "The number of tokens to keep from the initial prompt is greater than the context length.",
    "Context size has been exceeded.",
    "The estimated number of input and maximum output tokens (5000) exceeded this model context window limit (4096).",
    "AiError: The estimated number of input and maximum output tokens (9302) exceeded this model context window limit (7968).",
    "Requested generation length 1 is not possible! The provided prompt is 20000 tokens long, so generating 1 tokens requires a sequence length of 20001, but the maximum supported sequence length is just 8192!",
    "Prompt length 5000 is greater than max_seq_len 4096",
    "Request body too large for gpt-4o model. Max size: 8000 tokens.",
    "Prompt length (5000) exceeds maximum input length (4096). Set log level to info and check TRTGptModel logs for how maximum input length is set",
    "The sum of prompt length (5000.0), query length (0) should not exceed max_num_tokens (4096)",
    "Input length 140000 exceeds the maximum length 131072",
    "Total tokens of image and text exceed max message tokens",
    "Prompt too long: 5152 tokens exceeds max_seq_len 2048 (leave room for output tokens)",
    "Prompt is 11543 tokens but the model context window is 4096 tokens.",
    "Your input exceeds the maximum allowed input length of 131072 tokens",
    "输入长度超过最大长度",
    "提示词超长",
    "Prompt 超长",
    "prompt tokens too long, please shorten the prompt",
    "litellm.ContextWindowExceededError: something",
    "input too long: the conversation exceeds model limits. context_length_exceeded",
    "This model's maximum context length is 8192 tokens, however you requested 10000 tokens (9000 in your prompt; 1000 for the completion). Please reduce your prompt; or completion length.",
    "prompt has 12,000 tokens, but the configured context size is 8,192 tokens",
    "The total number of tokens in the prompt exceeds the model's limit of 8192 tokens",
    "max_tokens must be at least 1, got -2017.",
    "Message is too long for the model's context",
    "Input token length exceeds model limit",
]  # fmt: skip
# What sounds alike: other limits, and limits of the answer.
OTHERS = [
    "max_tokens must be at least 1, got 0",
    "max_tokens must be at least 1, got -1",
    "max_tokens is too large: 100000. This model supports at most 16384 completion tokens, whereas you provided 100000.",
    "`max_tokens` must be less than or equal to `8192`, the maximum value for `max_tokens` is less than the `context_window` for this model",
    "max_tokens (9000) exceeds the model's maximum output tokens of 8192",
    "'max_tokens' or 'max_completion_tokens' is too large: 9000. This model's maximum context length is 8192 tokens and your request has 20 input tokens (9000 > 8192 - 20).",
    "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 10 `inputs` tokens and 5000 `max_new_tokens`",
    "The maximum tokens you requested exceeds the model limit of 4096. Try again with a maximum tokens value that is lower than 4096.",
    "Invalid max_tokens value, the valid range of max_tokens is [1, 8192]",
    "Range of max_tokens should be [1, 8192]",
    "max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens for claude",
    "Request too large for model `llama-3` in organization `org` on tokens per minute (TPM): Limit 6000, Requested 12000, please reduce your message size and try again.",
    "Rate limit reached for gpt-4 on tokens per min (TPM): Limit 10000, Used 9000, Requested 2000.",
    "Too many tokens, please wait before trying again.",
    "You exceeded your current quota, please check your plan and billing details.",
    "Too many requests",
    "image exceeds 5 MB maximum: 6000000 bytes > 5242880 bytes",
    "Invalid 'tools': array too long. Expected an array with maximum length 128, but got an array with length 129 instead.",
    "Invalid 'messages[0].name': string too long. Expected a string with maximum length 64, but got a string with length 70 instead.",
    "Invalid 'user': string too long. Expected a string with maximum length 64",
    "Unsupported parameter: 'context_length'",
    "The model does not exist",
    "temperature must be less than 2",
    "stop: too many sequences",
    "Model is overloaded, request queue limit exceeded",
    "n must be 1",
    "DEGRADED function cannot be invoked",
    "Invalid value for 'max_tokens': integer above maximum value. Expected a value <= 4096, but got 9999 instead.",
    "tokens in request more than max tokens per minute",
    "Unknown parameter: 'max_model_len'",
    "The messages array is empty",
    "function name is longer than the maximum length of 64",
    "Payload too large",
    "request entity too large",
    "tool call id exceeds maximum length 40",
]  # fmt: skip


@pytest.mark.parametrize("message", OVERFLOWS)
def test_request_that_is_too_long(message: str) -> None:
    assert is_overflow({"message": message}, 400)
    assert is_overflow({"message": message}, 500)
    assert status_of({"error": {"message": message}}) == 400


@pytest.mark.parametrize("message", OTHERS)
def test_another_limit(message: str) -> None:
    assert not is_overflow({"message": message}, 400)


@pytest.mark.parametrize(
    "error",
    [
        {"message": "No", "code": CODE},
        {"message": "No", "type": "exceed_context_size_error"},
        {"message": "No", "code": "tokens_limit_reached"},
        {
            "message": "Provider returned error",
            "metadata": {"raw": '{"error":{"message":"Prompt is too long"}}'},
        },
        {"message": "No", "details": [{"reason": "prompt is too long"}]},
    ],
)
def test_it_is_known_by_its_code_and_by_what_is_inside(error: Any) -> None:
    assert is_overflow(error, 400)


@pytest.mark.parametrize("status", [401, 402, 404, 429, 503])
def test_status_of_another_kind_counts_more(status: int) -> None:
    error = {"message": "prompt is too long"}
    assert not is_overflow(error, status)
    assert not is_overflow({**error, "code": str(status)}, 500)


def test_what_repeats_the_request_says_nothing() -> None:
    error = {"message": "No", "input": "prompt is too long", "n": 7}
    assert not is_overflow(error, 400)
    deep: Any = "prompt is too long"
    for _ in range(9):
        deep = [deep]
    assert not is_overflow({"message": "No", "details": deep}, 400)


@pytest.mark.parametrize(
    "part", ["maximum context length ", "exceeds ", "prompt ", "input exceeds ", "a"]
)
def test_work_grows_with_the_text_alone(part: str) -> None:
    def make(times: int) -> str:
        return part * times

    assert growth(make, lambda text: is_overflow({"message": text}, 400), 20) < MOST
