"""A body for a stream, and a stream for a body."""

from ..chat.chunks.chunk import Chunk
from ..chat.conversion import chunks_of, is_body
from ..repair.fix import (
    BODY,
    DONE,
    HI,
    ROLE,
    STOP,
    TEXT,
    UNSTREAMED,
    USAGE,
    USAGE_CHUNK,
    WORD,
    Example,
    Fix,
    Wire,
    completion,
    wire,
)
from ..repair.look import Finding


# A whole answer, `chat.completion`, where a stream was asked for.
class BodyInStream(Fix):
    """Send its choices as chunks: role, text, calls, finish with the usage."""

    name = "body-in-stream"
    changes = "`chat.completion` in place of a stream -> chunks"
    why = "Clients look for deltas and show nothing."
    providers = ("Workers AI (GPT-OSS)", "Lemonade", "servers that ignore `stream`")
    handles = Finding.MESSAGE
    sources = (
        "https://github.com/neomjs/neo/issues/12428",
        "https://github.com/nashsu/llm_wiki/issues/619",
        "https://github.com/cloudflare/ai/tree/main/packages/workers-ai-provider",
    )
    also_covered_by = ("usage-every-chunk",)
    examples = (
        Example("text", [BODY], [ROLE, WORD, {**STOP, "usage": USAGE}]),
        Example(
            "no reason",
            [completion(HI, finish=None)],
            [ROLE, WORD, {**STOP, "usage": USAGE}],
        ),
        Example.untouched(
            "a chunk by name",
            [{**completion(HI, usage=None), "object": "chat.completion.chunk"}],
        ),
        Example.untouched("later", [ROLE, BODY]),
    )

    def edit(self, chunk: Chunk) -> list[Chunk] | None:
        """Return the chunks, if it is the first of its stream and complete."""
        if not is_body(chunk, self.asked, self.seen):
            return None
        return chunks_of(chunk, forced=self.asked.forced_tool)


_STREAM: Wire = [TEXT, STOP, USAGE_CHUNK, DONE]
_CHOICE = {"index": 0, "message": HI, "logprobs": None, "finish_reason": "stop"}
_BODY = {**BODY, "choices": [_CHOICE]}
_ERROR = {"error": {"message": "Busy", "type": "server_error"}}


# An event stream where a body was asked for.
# The repair is in `repair/engine/body.py`.
class StreamInBody(Fix):
    """Send what the events say as one body, if they are complete.

    repair/engine/body.py does it. An error among them is the answer; its status is another fix's.
    """

    name = "stream-in-body"
    changes = "event stream (or JSON with `[DONE]`) for `stream: false` -> one body"
    why = "Clients fail to parse it as JSON."
    providers = (
        "mini-sglang",
        "9router",
        "OmniRoute",
        "Unsloth",
        "sub2api",
        "Meridian",
    )
    sources = (
        "https://github.com/sgl-project/mini-sglang/issues/51",
        "https://github.com/unslothai/unsloth/issues/6570",
        "https://github.com/decolua/9router/issues/3492",
    )
    also_covered_by = ("error-unwrapped",)
    examples = (
        Example.of_body("stream", wire(_STREAM), _BODY),
        Example.of_body("body and done", wire([_BODY, DONE]), _BODY),
        Example.of_error("error", 503, b"event: error\n" + wire([_ERROR]), _ERROR),
        Example.untouched(
            "broken off", [wire(_STREAM[:1])], asked=UNSTREAMED, kind="body"
        ),
    )
