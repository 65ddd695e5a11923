"""`content: null` where OpenAI sends a string or nothing."""

from ...chat.chunks.chunk import Chunk, deltas, messages
from ...chat.chunks.chunk_content import stands_for_text
from ...chat.state.stream_state import Asked
from ...repair.fix import ROLE, WORD, Example, Fix, calling, chunk, completion, head
from ...repair.look import Finding

_NULL = chunk({"role": "assistant", "content": None})
_TOOLS = Asked(stream=True, tools=True)


class ContentNull(Fix):
    """Send `""` in an opening, nothing later, a string in a message.

    OpenAI opens a tool call with `content: null` and a text with `content: ""`. Where the
    request has tools, an opening that is only a role and null waits for the one event
    that tells which.
    """

    name = "content-null"
    changes = '`content: null` -> `""` in an opening, removed later, `""` in a body'
    why = 'Chatbox shows "null" before the answer; adding it to a string raises.'
    providers = ("NVIDIA NIM", "SGLang", "GitHub Copilot", "DeepSeek", "llama.cpp")
    handles = Finding.NULL_CONTENT
    sources = (
        "https://github.com/BerriAI/litellm/issues/2010",
        "https://github.com/aaamoon/copilot-gpt4-service/issues/121",
    )
    spares_openai = True
    examples = (
        Example("opening", [_NULL, WORD], [ROLE, WORD], ended=False),
        Example(
            "later",
            [ROLE, chunk({"content": None, "reasoning_content": "so"})],
            [ROLE, chunk({"reasoning_content": "so"})],
            ended=False,
        ),
        Example(
            "text although tools are there",
            [_NULL, WORD],
            [ROLE, WORD],
            asked=_TOOLS,
            ended=False,
        ),
        Example.of_body(
            "body",
            completion({"role": "assistant", "content": None}),
            completion({"role": "assistant", "content": ""}),
        ),
        Example.untouched("tool call", [_NULL, calling(head())], asked=_TOOLS),
        Example.untouched("refusal", [chunk({"content": None, "refusal": ""})]),
        Example.untouched("string", [ROLE, WORD]),
    )

    def edit(self, chunk: Chunk) -> bool:
        """Repair the deltas."""
        changed = False
        for index, choice, delta in deltas(chunk):
            if delta.get("content", "") is not None:
                continue
            if index in self.seen.choices:
                del delta["content"]
            elif stands_for_text(delta) or isinstance(delta.get("refusal"), str):
                continue
            elif any(value for key, value in delta.items() if key != "role"):
                del delta["content"]  # reasoning, say, is alone in its delta
            elif self.asked.tools and choice.get("finish_reason") is None:
                continue  # the machine decides when it knows what follows
            else:
                delta["content"] = ""
            changed = True
        return changed

    def body(self, body: Chunk) -> bool:
        """Repair the messages."""
        changed = False
        for choice, message in messages(body):
            if (
                message.get("content") is None
                and not stands_for_text(message)
                and choice.get("finish_reason") != "content_filter"
            ):
                message["content"] = ""
                changed = True
        return changed
