"""What a request is for, and which form its answer has, by path and content type."""


def is_chat_request(method: str, path: str) -> bool:
    """Tell whether a request is for chat/completions, under whatever prefix."""
    return method == "POST" and path.partition("?")[0].rstrip("/").endswith(
        "/chat/completions"
    )


def is_event_stream(content_type: str) -> bool:
    """Tell whether a `content-type` value names server-sent events."""
    return content_type.partition(";")[0].strip().lower() == "text/event-stream"
