"""The answer at the top of an event or body, without choices."""

from ...chat.chunks.chunk import Chunk, is_flat
from ...chat.flat_answer import is_wrapped, unwrap
from ...chat.state.stream_state import Asked
from ...repair.fix import HI, Example, Fix, chunk, completion
from ...repair.look import Finding

_BARE = {key: each for key, each in chunk(None).items() if key != "choices"}
_BODY = {key: each for key, each in completion(HI).items() if key != "choices"}
_CHOICE = {"index": 0, "message": HI, "finish_reason": None}
_CALLS = {"tool_calls": [{"name": "f"}]}


class ChoicesFlat(Fix):
    """Put what stands at the top into a choice; the padding `p` goes."""

    name = "choices-flat"
    changes = "`response`, `tool_calls` at the top -> `choices[0]`"
    why = "No OpenAI client finds the answer."
    providers = ("Cloudflare Workers AI, its own API", "Baidu Qianfan, its own API")
    handles = Finding.NO_CHOICES
    sources = (
        "https://developers.cloudflare.com/workers-ai/features/streaming/",
        "https://github.com/cloudflare/ai/tree/main/packages/workers-ai-provider",
    )
    examples = (
        Example.of_event(
            "text", {**_BARE, "response": "Hi", "p": "abdef"}, chunk({"content": "Hi"})
        ),
        Example.of_event("JSON", {**_BARE, "response": [1]}, chunk({"content": "[1]"})),
        Example.of_event(
            "call",
            {**_BARE, "response": "", "tool_calls": [{"name": "f"}]},
            chunk({"content": "", "tool_calls": [{"name": "f"}]}),
        ),
        Example(
            "body",
            [{"result": {**_BODY, "response": "Hi"}, "success": True, "errors": []}],
            [{**_BODY, "choices": [_CHOICE]}],
            asked=Asked(),
            kind="body",
        ),
        Example(
            "calls beside a result",
            [{"result": {**_BODY, "response": "Hi"}, "success": True, **_CALLS}],
            [{**_BODY, "choices": [{**_CHOICE, "message": {**HI, **_CALLS}}]}],
            asked=Asked(),
            kind="body",
        ),
        Example(
            "usage beside a result",
            [{"result": {"response": "Hi"}, "success": True, **_BODY}],
            [{"choices": [_CHOICE], **_BODY}],
            asked=Asked(),
            kind="body",
        ),
        Example.of_event(
            "calls beside choices in a result",
            {"result": chunk({"content": "Hi"}), "success": True, **_CALLS},
            chunk({"content": "Hi", **_CALLS}),
        ),
        Example(
            "calls beside a result without choices",
            [{"result": {**_BODY, "choices": []}, "success": True, **_CALLS}],
            [{**_BODY, "choices": [{**_CHOICE, "message": _CALLS}]}],
            asked=Asked(),
            kind="body",
        ),
        Example.untouched(
            "another protocol", [{"type": "response.created", "response": {"id": "r"}}]
        ),
        Example.untouched(
            "after chunks", [chunk({"content": "Hi"}), {"response": "x"}]
        ),
        Example.untouched("choices", [chunk({"content": "Hi"}, response="x")]),
        Example.untouched(
            "choices that are none",
            [{"result": {"choices": 1}, "response": "Hi", "success": True}],
            kind="body",
        ),
    )

    def edit(self, chunk: Chunk) -> bool:
        """Make the delta; the message of a whole answer, which has ended."""
        if self.seen.has_choices or not is_flat(chunk):
            return False
        # A body is whole by being there; behind an event that looks like one more may come.
        is_body = is_wrapped(chunk) and self.seen.is_value
        return unwrap(chunk, "stop") if is_body else unwrap(chunk, None, "delta")

    def body(self, body: Chunk) -> bool:
        """Make the message, of a result that is not a completion already."""
        return is_flat(body) and unwrap(body, None)
