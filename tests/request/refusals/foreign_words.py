"""Refusals that nothing in a request can mend: a client has to know them as they are."""

FOREIGN = (
    # keys, rights, money
    "Incorrect API key provided: ***. You can find your API key at the provider's page.",
    "Invalid authentication credentials",
    "The API key must not be empty",
    "No auth credentials found",
    "You do not have access to this model",
    "Your account is not active, please check your billing details",
    "You exceeded your current quota, please check your plan and billing details.",
    "Insufficient balance",
    (
        "This request requires more credits, or fewer max_tokens. You requested up to 32000 "
        "tokens, but can only afford 12."
    ),
    "Your organization must be verified to use the model",
    "Project does not have access to the model",
    "The feature is not available in your country",
    # pace
    "Rate limit reached for requests",
    "Too many requests, please try again later",
    "ResourceExhausted: Worker local total request limit reached (33/32)",
    "The server is overloaded",
    "Requests rate limit exceeded, only one request at a time is allowed",
    "Only 2 concurrent requests are allowed for this key",
    # models and paths
    "The model `m` does not exist",
    "Function '1234': Not found for account 'a'",
    "model m not found, try pulling it first",
    "404 page not found",
    "No endpoints found that support tool use",
    "No endpoints found matching your data policy",
    "This model has been deprecated",
    "The model is not loaded",
    "This is not a chat model and thus not supported in the v1/chat/completions endpoint",
    "Unsupported model type",
    # length of the context
    (
        "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens "
        "(1000 in the messages, 8000 in the completion)."
    ),
    (
        "max_tokens is too large: 100000. This model's maximum context length is 65536 tokens "
        "and your request has 5000 input tokens"
    ),
    "prompt is too long: 210000 tokens > 200000 maximum",
    "Please reduce the length of the messages or completion.",
    "the request exceeds the available context size, try increasing it",
    "input length and `max_tokens` exceed context limit: 190000 + 32000 > 200000",
    "The input token count (2845475) exceeds the maximum number of tokens allowed (1048576).",
    "context_length_exceeded",
    "Request too large for model on tokens per minute",
    "Your input exceeds the context window of this model",
    "System prompt is too long",
    # policy and filters
    "The response was filtered due to the prompt triggering the content management policy.",
    "Content was flagged as unsafe",
    "Your request was rejected as a result of our safety system",
    "Input data may contain inappropriate content",
    "PROHIBITED_CONTENT",
    "The system prompt violates our usage policy and must be changed at first",
    "The message content must not contain personal data",
    "Provider returned error: content_filter",
    # a client's own mistakes
    "messages: field required",
    "messages cannot be empty",
    "messages with role 'tool' must be a response to a preceding message with 'tool_calls'",
    (
        "An assistant message with 'tool_calls' must be followed by tool messages responding "
        "to each 'tool_call_id'."
    ),
    "tool_call_id  is not found",
    "Not the same number of function calls and responses",
    (
        "Expected last role User or Tool (or Assistant with prefix True) for serving but got "
        "assistant"
    ),
    "Invalid JSON in request body",
    "Could not parse the tool call arguments",
    "tool_choice 'f' is not in the tools",
    "Invalid 'tools[0].function.name': string does not match pattern.",
    "Invalid image URL",
    "The image is too large",
    "temperature must be a number",
    "max_tokens must be a positive integer",
    "max_tokens must be greater than or equal to 1",
    "seed must be positive",
    "response_format is not supported",
    "stop must have at most 4 sequences",
    "n must be 1",
    "Invalid base64 data",
    # failures
    "Internal server error",
    "upstream connect error or disconnect/reset before headers",
    "CUDA out of memory",
    "EngineCore encountered an issue. See stack trace for the root cause.",
    "The operation was aborted",
    "Bad gateway",
    "Inference failed: no healthy upstream",
    "Gateway timeout while waiting for the first token",
)
