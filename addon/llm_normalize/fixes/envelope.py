"""What surrounds the choices: id, object, time, model."""

from ..chat.chunks.chunk import ENVELOPE, LONG, Chunk, put_first
from ..chat.chunks.envelope import LATEST, names_answer, names_model, seconds_in
from ..chat.chunks.openai_fields import TIERS
from ..chat.conversion import is_body
from ..chat.state.asked import Asked
from ..repair.fix import BODY, DONE, MORE, STOP, TEXT, WORD, Example, Fix, without
from ..repair.look import Finding
from ..wire.json_text import Number

_NAMELESS = without(WORD, "id")
_MADE = "chatcmpl-5feceb66ffc86f38d952786c"
_ZERO = Asked(stream=True, id="0")


# No `id`, or one that says nothing: null, empty, a number, a placeholder.
class IdMissing(Fix):
    """Give the answer one id: the first the provider names, else one of its own."""

    name = "id-missing"
    changes = '`id` missing, null, `""`, `"chatcmpl"` or a number -> one for the answer'
    why = "SDK helpers and logs tell answers apart by it; strict types want a string."
    providers = ("chatglm.cpp", "Azure", "Snowflake", "Hugging Face TGI", "MiniMax")
    handles = Finding.ENVELOPE
    sources = (
        "https://github.com/li-plus/chatglm.cpp",
        "https://github.com/BerriAI/litellm/issues/1571",
    )
    examples = (
        Example.of_event("missing", _NAMELESS, {**WORD, "id": _MADE}, asked=_ZERO),
        Example.of_event(
            "empty", {**WORD, "id": ""}, {**WORD, "id": _MADE}, asked=_ZERO
        ),
        Example.of_event("number", {**WORD, "id": 7}, {**WORD, "id": "7"}),
        Example.of_body(
            "body", {**BODY, "id": "chatcmpl"}, {**BODY, "id": _MADE}, asked=_ZERO
        ),
        Example.untouched("there", [WORD]),
    )

    def edit(self, chunk: Chunk) -> bool:
        """Name the answer."""
        given = chunk.get("id")
        if names_answer(given):
            return False
        made = self.seen.envelope.get("id") or self.asked.make_id("chatcmpl-")
        if isinstance(given, int | Number) and not isinstance(given, bool):
            made = given.text if isinstance(given, Number) else str(given)
        put_first(chunk, "id", made)
        return True

    body = edit


# `object` missing, empty, or of another kind of answer.
class ObjectWrong(Fix):
    """Say what the object is."""

    name = "object-wrong"
    changes = "`object` -> `chat.completion.chunk`; `chat.completion` in a body"
    why = "Strict types take the literal and nothing else."
    providers = ("Perplexity", "Z.AI", "Azure", "GitHub Copilot", "mini-sglang")
    handles = Finding.OBJECT
    sources = (
        "https://github.com/MacPaw/OpenAI/issues/317",
        "https://github.com/sgl-project/mini-sglang/issues/51",
        "https://github.com/mlflow/mlflow/issues/12767",
    )
    examples = (
        Example.of_event("stream", {**WORD, "object": "chat.completion"}, WORD),
        Example.of_event("empty", {**WORD, "object": ""}, WORD),
        Example.of_body("body", {**BODY, "object": "text_completion"}, BODY),
        Example.untouched("right", [WORD]),
    )

    def edit(self, chunk: Chunk) -> bool:
        """Set it in a chunk."""
        kind = "chat.completion.chunk"
        if chunk.get("object") == kind or is_body(chunk, self.asked, self.seen):
            return False
        chunk["object"] = kind
        return True

    def body(self, body: Chunk) -> bool:
        """Set it in a body."""
        kind = "chat.completion"
        if body.get("object") == kind:
            return False
        body["object"] = kind
        return True


# `created` as text, as a fraction, or in milliseconds.
class CreatedNotSeconds(Fix):
    """Send whole seconds since 1970."""

    name = "created-not-seconds"
    changes = "`created` in milliseconds, as a fraction, text or date -> whole seconds"
    why = "Typed clients expect an integer, and 32 or 64 bits overflow."
    providers = ("mistral.rs", "web-llm", "OpenCursor", "DIAL")
    handles = Finding.ENVELOPE
    sources = (
        "https://github.com/EricLBuehler/mistral.rs/issues/1805",
        "https://github.com/mlc-ai/web-llm/issues/829",
        "https://github.com/epam/ai-dial-adapter-openai/issues/141",
    )
    examples = (
        Example.of_event("milliseconds", {**WORD, "created": 1700000000123}, WORD),
        Example.of_event("text", {**WORD, "created": "1700000000"}, WORD),
        Example.of_event(
            "fraction", {**WORD, "created": Number("1700000000.25")}, WORD
        ),
        Example.of_body("date", {**BODY, "created": "2023-11-14T22:13:20Z"}, BODY),
        Example.untouched("seconds", [WORD]),
    )

    def edit(self, chunk: Chunk) -> bool:
        """Convert it; other values stay for other fixes."""
        given = chunk.get("created")
        if type(given) is int and given < LATEST:
            return False
        seconds = seconds_in(given)
        if seconds is None:
            return False
        while seconds >= LATEST:
            seconds /= 1000
        chunk["created"] = int(seconds)
        return True

    body = edit


_TIMELESS = without(WORD, "created")
_NOW = Asked(stream=True, time=1700000000)


# No `created`, or an invalid one: null, 0, negative.
class CreatedMissing(Fix):
    """Say when the answer began."""

    name = "created-missing"
    changes = "`created` missing, null or 0 -> the time of the answer, in seconds"
    why = "JetBrains' AI plugin refuses the chunk: the field is required for its type."
    providers = ("llama.cpp servers", "Perplexity", "Venice", "GitHub Copilot")
    handles = Finding.ENVELOPE
    sources = (
        "https://github.com/peach0x33a/cmdcode2api/issues/1",
        "https://platform.openai.com/docs/api-reference/chat/streaming",
    )
    examples = (
        Example.of_event(
            "missing", _TIMELESS, {**_TIMELESS, "created": 1700000000}, asked=_NOW
        ),
        Example.of_event("zero", {**WORD, "created": 0}, WORD, asked=_NOW),
        Example.of_body("body", {**BODY, "created": None}, BODY, asked=_NOW),
        Example.untouched("there", [WORD]),
    )

    def edit(self, chunk: Chunk) -> bool:
        """Set the time of the stream's first chunk, else of the exchange."""
        given = chunk.get("created")
        if seconds_in(given) is not None:
            return False  # if not in OpenAI's form
        chunk["created"] = self.seen.envelope.get("created") or self.asked.time
        return True

    body = edit


_MAPPED = Asked(stream=True, model="gpt-4o", is_mapped=True)


# The answer names the model that was sent in the place of the one that was asked for.
class ModelMapped(Fix):
    """Name the model that was asked for, where `normalize_models` sent another one."""

    name = "model-mapped"
    changes = (
        "`model` of the answer -> the one asked for, if `normalize_models` maps it"
    )
    why = "Clients that check it refuse an answer of a model that they have not asked for."
    providers = ("any, behind `normalize_models`",)
    handles = Finding.ENVELOPE
    sources = ("https://github.com/router-for-me/CLIProxyAPI/issues/1548",)
    examples = (
        Example("mapped", [WORD], [{**WORD, "model": "gpt-4o"}], _MAPPED),
        Example.of_body("body", BODY, {**BODY, "model": "gpt-4o"}, asked=_MAPPED),
        Example.untouched("not mapped", [WORD], asked=Asked(stream=True, model="m")),
    )

    def edit(self, chunk: Chunk) -> bool:
        """Name the model."""
        if not self.asked.is_mapped or chunk.get("model") == self.asked.model:
            return False
        chunk["model"] = self.asked.model
        return True

    body = edit


_ACME = Asked(stream=True, model="acme-1")


# No `model`, or one that says nothing: null, empty, a placeholder.
class ModelMissing(Fix):
    """Name the model that was asked for.

    A name that differs from it stays: it may be more exact.
    """

    name = "model-missing"
    changes = '`model` missing, null, `""`, `"model"`, `"default-model"` -> as asked'
    why = "Cursor refuses a stream of another model; one-api does not account for it."
    providers = ("chatglm.cpp", "Azure (first chunk)", "CLIProxyAPI", "Snowflake")
    handles = Finding.ENVELOPE
    sources = (
        "https://github.com/router-for-me/CLIProxyAPI/issues/1548",
        "https://github.com/li-plus/chatglm.cpp",
    )
    examples = (
        Example.of_event("empty", {**WORD, "model": ""}, WORD, asked=_ACME),
        Example.of_event(
            "placeholder", {**WORD, "model": "default-model"}, WORD, asked=_ACME
        ),
        Example.of_body("body", {**BODY, "model": None}, BODY, asked=_ACME),
        Example.untouched("more exact", [{**WORD, "model": "acme-1-0613"}]),
        Example.untouched("asked so", [{**WORD, "model": "default"}]),
    )

    def edit(self, chunk: Chunk) -> bool:
        """Name the model."""
        given = chunk.get("model")
        if names_model(given):
            return False
        name = self.seen.envelope.get("model") or self.asked.model or given
        name = name if isinstance(name, str) and name else "unknown"
        if name == given:
            return False
        chunk["model"] = name
        return True

    body = edit


# `id`, `created` or `model` that change, or go missing, within one stream.
class EnvelopeChanging(Fix):
    """Give every chunk of a stream the id, time and model of its first."""

    name = "envelope-changing"
    changes = "`id`, `created`, `model` other than the first chunk's -> the first's"
    why = "SDK helpers take a chunk with another id for another answer."
    providers = ("SGLang (`created`)", "llama.cpp (`created`)", "Ollama", "xAI")
    handles = Finding.ENVELOPE | Finding.OBJECT | Finding.TIER | Finding.FINGERPRINT
    sources = (
        "https://github.com/BerriAI/litellm/issues/1571",
        "https://github.com/ggml-org/llama.cpp/issues/5876",
    )
    examples = (
        Example("clock runs on", [TEXT, {**MORE, "created": 1700000001}], [TEXT, MORE]),
        Example("new id each time", [TEXT, {**MORE, "id": "x"}], [TEXT, MORE]),
        Example.untouched("the same", [TEXT, MORE, STOP, DONE]),
    )

    def edit(self, chunk: Chunk) -> bool:
        """Set what differs from the first that says something, and cut what is long."""
        changed = False
        for key in ENVELOPE:
            value = chunk.get(key)
            if isinstance(value, str) and len(value) > LONG:  # as in what is split off
                chunk[key] = value[:LONG]
                changed = True
        for key, first in self.seen.envelope.items():
            if chunk.get(key) != first:
                chunk[key] = first
                changed = True
        return changed


# A `service_tier` that OpenAI does not have.
class ServiceTierUnknown(Fix):
    """Leave the key out."""

    name = "service-tier-unknown"
    changes = '`service_tier: "on_demand"`, `""` -> removed'
    why = "Strict types know OpenAI's tiers and no others."
    providers = ("Groq", "Snowflake")
    handles = Finding.TIER
    sources = (
        "https://console.groq.com/docs/service-tiers",
        "https://platform.openai.com/docs/api-reference/chat/object",
    )
    examples = (
        Example.of_event("stream", {**WORD, "service_tier": "on_demand"}, WORD),
        Example.of_body("body", {**BODY, "service_tier": ""}, BODY),
        Example.untouched("known", [{**WORD, "service_tier": "default"}]),
        Example.untouched("null", [{**WORD, "service_tier": None}]),
    )

    def edit(self, chunk: Chunk) -> bool:
        """Drop the key."""
        if chunk.get("service_tier") in (None, *TIERS):
            return False
        del chunk["service_tier"]
        return True

    body = edit


# A `system_fingerprint` that is not text.
class SystemFingerprintNotText(Fix):
    """Send null, as OpenAI does without one."""

    name = "system-fingerprint-not-text"
    changes = "`system_fingerprint: 7` -> `null`"
    why = "Typed clients expect a string, and refuse the chunk."
    providers = ("custom servers",)
    handles = Finding.FINGERPRINT
    sources = (
        "https://github.com/MacPaw/OpenAI/issues/309",
        "https://platform.openai.com/docs/api-reference/chat/object",
    )
    examples = (
        Example.of_event(
            "number",
            {**WORD, "system_fingerprint": 7},
            {**WORD, "system_fingerprint": None},
        ),
        Example.of_body(
            "object",
            {**BODY, "system_fingerprint": {}},
            {**BODY, "system_fingerprint": None},
        ),
        Example.untouched("text", [{**WORD, "system_fingerprint": "fp_1"}]),
        Example.untouched("null", [{**WORD, "system_fingerprint": None}]),
    )

    def edit(self, chunk: Chunk) -> bool:
        """Set null."""
        given = chunk.get("system_fingerprint")
        if given is None or isinstance(given, str):
            return False
        chunk["system_fingerprint"] = None
        return True

    body = edit
