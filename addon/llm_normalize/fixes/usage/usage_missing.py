"""An answer as one body, without usage."""

from ...chat.chunks.chunk import Chunk, choices
from ...repair.fix import HI, USAGE, Example, Fix, completion

_BARE = {key: value for key, value in completion(HI).items() if key != "usage"}
_ZEROS = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}


class UsageMissing(Fix):
    """Put zeros where a body has no usage: the one figure that is ever made up."""

    name = "usage-missing"
    changes = "body without `usage`, or with null -> zeros"
    why = "llm and smolagents crash without it."
    providers = ("chatglm.cpp", "local servers")
    sources = (
        "https://github.com/simonw/llm",
        "https://github.com/huggingface/smolagents",
        "https://platform.openai.com/docs/api-reference/chat/object",
    )
    examples = (
        Example.of_body("missing", _BARE, {**_BARE, "usage": _ZEROS}),
        Example.of_body("null", {**_BARE, "usage": None}, {**_BARE, "usage": _ZEROS}),
        Example.untouched("there", [{**_BARE, "usage": USAGE}], kind="body"),
    )

    def body(self, body: Chunk) -> bool:
        """Add the zeros."""
        if body.get("usage") is not None:
            return False
        if any(choice.get("usage") for choice in choices(body)):
            return False  # it has some, in another place
        body["usage"] = dict(_ZEROS)
        return True
