"""The name of a legacy `function_call` again, or null."""

from ...chat.chunks.chunk import Chunk, deltas
from ...repair.fix import Example, Fix, chunk
from ...repair.look import Finding

_OPEN = chunk({"function_call": {"name": "f", "arguments": ""}})
_MORE = chunk({"function_call": {"arguments": "{}"}})


class FunctionCallRepeated(Fix):
    """Send the name once, and arguments as text."""

    name = "function-call-repeated"
    changes = "`function_call.name` after the first -> removed; null arguments too"
    why = "Clients add fragments up: `read_fileread_file`."
    providers = ("gateways that speak the API of 2023",)
    handles = Finding.FUNCTION_CALL
    sources = (
        "https://github.com/langchain4j/langchain4j/issues/4544",
        "https://platform.openai.com/docs/api-reference/chat/streaming",
    )
    examples = (
        Example(
            "again",
            [_OPEN, chunk({"function_call": {"name": "f", "arguments": "{}"}})],
            [_OPEN, _MORE],
            ended=False,
        ),
        Example(
            "null",
            [_OPEN, chunk({"function_call": {"name": None, "arguments": "{}"}})],
            [_OPEN, _MORE],
            ended=False,
        ),
        Example.of_event(
            "no arguments",
            chunk({"function_call": {"name": "f", "arguments": None}}),
            _OPEN,
        ),
        Example.untouched("once", [_OPEN, _MORE]),
    )

    def edit(self, chunk: Chunk) -> bool:
        """Repair the fragments."""
        changed = False
        for index, _, delta in deltas(chunk):
            call = delta.get("function_call")
            if not isinstance(call, dict) or not call:
                continue
            if "name" in call and self.seen.choice(index).legacy_call:
                del call["name"]
                changed = True
            if call.get("arguments") is None:
                call["arguments"] = ""
                changed = True
        return changed
