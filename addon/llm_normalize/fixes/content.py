"""The text of an answer."""

from ..chat.chunks.chunk import Chunk, in_deltas, messages
from ..chat.chunks.chunk_content import stands_for_text
from ..chat.chunks.chunk_split import part_text
from ..chat.state.asked import Asked
from ..repair.fix import (
    HI,
    ROLE,
    WORD,
    DeltaFix,
    Example,
    Fix,
    PartFix,
    calling,
    chunk,
    head,
    without,
)
from ..repair.look import Finding
from ..wire.json_text import Json, dumps

_THINKING = ("thinking", "reasoning", "summary_text")
_KEYS = ("thinking", "reasoning", "summary", "text")
_TEXT = {"type": "text", "text": "Hi"}
_THOUGHT = {"type": "thinking", "thinking": [{"type": "text", "text": "so"}]}
_REFERENCE = {"type": "reference", "reference_ids": [1]}


# `content` as a list of parts where OpenAI sends one string.
class ContentParts(Fix):
    """Join the texts, and the thoughts as `reasoning_content`.

    Parts that have no text go to `content_parts`.
    """

    name = "content-parts"
    changes = "`content: [{…}]` -> text; thinking parts -> `reasoning_content`"
    why = 'Clients show "[object Object]" or fail: "expected a string".'
    providers = ("Mistral (Magistral)", "Databricks", "GLM on Mistral")
    handles = Finding.CONTENT_PARTS
    sources = (
        "https://docs.mistral.ai/capabilities/reasoning/",
        "https://github.com/meilisearch/meilisearch/issues/6327",
        "https://github.com/databricks/appkit/issues/559",
    )
    examples = (
        Example.of_delta(
            "thought", {"content": [_THOUGHT]}, {"reasoning_content": "so"}
        ),
        Example.of_delta(
            "text",
            {"content": [_TEXT, "!", _REFERENCE]},
            {"content": "Hi!", "content_parts": [_REFERENCE]},
        ),
        Example.of_message(
            "body",
            {"role": "assistant", "content": [_THOUGHT, _TEXT]},
            {**HI, "reasoning_content": "so"},
        ),
        Example.untouched("string", [WORD]),
    )

    def edit(self, chunk: Chunk) -> bool:
        """Join the parts of the deltas."""
        return in_deltas(chunk, _join)

    def body(self, body: Chunk) -> bool:
        """Join the parts of the messages; a message has its content."""
        found = [message for _, message in messages(body) if _join(message)]
        for message in found:
            message.setdefault("content", "")
        return bool(found)


def _join(part: Chunk) -> bool:
    if not isinstance(part.get("content"), list):
        return False
    text, thought, others = join_parts(part.pop("content"))
    known = part.get("reasoning_content")
    if isinstance(known, str) and thought not in known:
        thought = known if known in thought else known + thought
    elif isinstance(known, str):
        thought = known
    fields = {"content": text, "reasoning_content": thought, "content_parts": others}
    part.update({key: each for key, each in fields.items() if each})
    return True


def join_parts(parts: list[Json]) -> tuple[str, str, list[Json]]:
    """The text, the reasoning, and the parts that have neither.

    Source of the parts: https://docs.mistral.ai/capabilities/reasoning/ and the shapes of
    Databricks and of OpenAI's Responses API, which gateways pass on.
    """
    text = thought = ""
    others = []
    for part in parts:
        if isinstance(part, str):
            text += part
        elif isinstance(part, dict) and part.get("type") in _THINKING:
            thought += _words(part)
        elif isinstance(part, dict) and isinstance(part.get("text"), str):
            text += part["text"]
        else:
            others.append(part)
    return text, thought, others


def _words(value: Json) -> str:
    if isinstance(value, dict):
        return "".join(_words(value[key]) for key in _KEYS if key in value)
    if isinstance(value, list):
        return "".join(map(_words, value))
    return value if isinstance(value, str) else ""


# `content` as an object or a number where OpenAI sends its text.
class ContentNotText(PartFix):
    """Send the JSON as text, which is what OpenAI's JSON mode does."""

    name = "content-not-text"
    changes = "`content: {…}`, a number or a boolean -> its JSON as a string"
    why = "Typed clients expect a string, and structured output is parsed from one."
    providers = ("Cloudflare Workers AI (JSON mode)",)
    handles = Finding.ODD_CONTENT
    sources = (
        "https://developers.cloudflare.com/workers-ai/features/json-mode/",
        "https://github.com/cloudflare/ai/tree/main/packages/workers-ai-provider",
    )
    examples = (
        Example.of_message(
            "object",
            {"role": "assistant", "content": {"a": 1}},
            {"role": "assistant", "content": '{"a":1}'},
        ),
        Example.of_delta("number", {"content": 4}, {"content": "4"}),
        Example.untouched("string", [chunk({"content": "4"})]),
        Example.untouched("null", [chunk({"content": None})]),
    )

    def part(self, part: Chunk) -> bool:
        """Write its content as text."""
        if isinstance(part.get("content"), str | list | None):
            return False
        part["content"] = dumps(part["content"]).decode()
        return True


_SAID = {"role": "assistant", "content": "Let me see."}
_BOTH = {**_SAID, "tool_calls": [head()]}
_ALONE = chunk(_SAID)


# Text and a tool call in one delta.
class ContentWithCalls(Fix):
    """Send the text first, in a chunk of its own."""

    name = "content-with-calls"
    changes = "text beside a tool call -> a chunk of its own before it"
    why = "Continue takes the text from such a delta, and loses the call's id and name."
    providers = ("SGLang", "Mistral", "gateways that join chunks")
    handles = Finding.TEXT_AND_CALLS
    sources = (
        "https://github.com/continuedev/continue/tree/main/packages/openai-adapters",
        "https://platform.openai.com/docs/guides/function-calling#streaming",
    )
    examples = (
        Example("both", [chunk(_BOTH)], [_ALONE, calling(head())]),
        Example(
            "log probabilities",
            [chunk(_BOTH, logprobs={"content": []})],
            [
                chunk(_SAID, logprobs={"content": []}),
                chunk({"tool_calls": [head()]}, logprobs=None),
            ],
        ),
        Example.untouched("apart", [_ALONE, calling(head())]),
        Example.untouched(
            "no text",
            [chunk({"role": "assistant", "content": "", "tool_calls": [head()]})],
        ),
    )

    def edit(self, chunk: Chunk) -> list[Chunk] | None:
        """Split the chunk."""
        return part_text(chunk)


_NULL = chunk({"role": "assistant", "content": None})
_TOOLS = Asked(stream=True, tools=True)


# `content: null` where OpenAI sends a string or nothing.
class ContentNull(DeltaFix):
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
        Example("opening", [_NULL, WORD], [ROLE, WORD]),
        Example(
            "later",
            [ROLE, chunk({"content": None, "reasoning_content": "so"})],
            [ROLE, chunk({"reasoning_content": "so"})],
        ),
        Example(
            "text although tools are there", [_NULL, WORD], [ROLE, WORD], asked=_TOOLS
        ),
        Example.of_message(
            "body",
            {"role": "assistant", "content": None},
            {"role": "assistant", "content": ""},
        ),
        Example.untouched("tool call", [_NULL, calling(head())], asked=_TOOLS),
        Example.untouched("refusal", [chunk({"content": None, "refusal": ""})]),
    )

    def delta(self, index: int, choice: Chunk, delta: Chunk) -> bool:
        """Repair a delta."""
        if delta.get("content", "") is not None:
            return False
        if index in self.seen.choices:
            del delta["content"]
        elif stands_for_text(delta) or isinstance(delta.get("refusal"), str):
            return False
        elif any(value for key, value in delta.items() if key != "role"):
            del delta["content"]  # reasoning, say, is alone in its delta
        elif self.asked.tools and choice.get("finish_reason") is None:
            return False  # the machine decides when it knows what follows
        else:
            delta["content"] = ""
        return True

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


# An opening that names the role alone, without any `content`.
class ContentMissing(DeltaFix):
    """Open with an empty text, as OpenAI does."""

    name = "content-missing"
    changes = '`{"role": "assistant"}` -> `{"role": "assistant", "content": ""}`'
    why = "Loops that index `delta['content']` of the first chunk raise a KeyError."
    providers = ("Cerebras", "Avian", "xAI", "Vercel AI Gateway", "Novita")
    handles = Finding.ROLE_ALONE
    sources = ("https://platform.openai.com/docs/api-reference/chat-streaming",)
    spares_openai = True
    examples = (
        Example.of_event("role alone", chunk({"role": "assistant"}), ROLE),
        Example.untouched(
            "reasoning", [chunk({"role": "assistant", "reasoning_content": "Hm"})]
        ),
        Example.untouched("later", [ROLE, chunk({"role": "assistant"})]),
    )

    def delta(self, index: int, choice: Chunk, delta: Chunk) -> bool:
        """Add the text to a delta that opens the choice, and says nothing else."""
        is_opening = "role" in delta and index not in self.seen.choices
        rest = without(delta, "role")
        if (
            not is_opening
            or "content" in delta
            or any(x is not None for x in rest.values())
        ):
            return False
        delta["content"] = ""
        return True
