"""The answer names the model that was sent in the place of the one that was asked for."""

from ...chat.chunks.chunk import Chunk
from ...chat.state.stream_state import Asked
from ...repair.fix import WORD, Example, Fix, completion
from ...repair.look import Finding

_ASKED = Asked(stream=True, model="gpt-4o", is_mapped=True)


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
        Example("mapped", [WORD], [{**WORD, "model": "gpt-4o"}], _ASKED, ended=False),
        Example(
            "body",
            [completion({"role": "assistant", "content": "Hi"})],
            [{**completion({"role": "assistant", "content": "Hi"}), "model": "gpt-4o"}],
            asked=Asked(model="gpt-4o", is_mapped=True),
            kind="body",
        ),
        Example.untouched("not mapped", [WORD], asked=Asked(stream=True, model="m")),
    )

    def edit(self, chunk: Chunk) -> bool:
        """Name the model."""
        if not self.asked.is_mapped or chunk.get("model") == self.asked.model:
            return False
        chunk["model"] = self.asked.model
        return True

    body = edit
