"""No `model`, or one that says nothing: null, empty, a placeholder."""

from ...chat.chunks.chunk import Chunk
from ...chat.chunks.envelope import names_model
from ...chat.state.stream_state import Asked
from ...repair.fix import BODY, WORD, Example, Fix
from ...repair.look import Finding

_ACME = Asked(stream=True, model="acme-1")


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
        Example(
            "body",
            [{**BODY, "model": None}],
            [BODY],
            asked=Asked(model="acme-1"),
            kind="body",
        ),
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
