"""Usage without one of its three counts."""

from ...chat.chunks.chunk import COUNTS, Chunk
from ...repair.fix import DONE, HI, TEXT, USAGE, Example, Fix, chunk, completion
from ...repair.look import Finding

_SOME = {"prompt_tokens": 3, "completion_tokens": 2}
_OTHER = {"input_tokens": 3, "output_tokens": 2}


def _end(usage: Chunk) -> Chunk:
    return chunk({}, finish="stop", usage=usage)


class UsagePartial(Fix):
    """Add the counts that follow from the others; missing ones are 0."""

    name = "usage-partial"
    changes = "`usage` without a count, or with other names -> all three"
    why = "Typed clients refuse the chunk; Zed takes it for one of no known kind."
    providers = ("MiniMax", "gateways to Claude")
    handles = Finding.ODD_USAGE
    sources = (
        "https://github.com/zed-industries/zed/issues/42893",
        "https://platform.openai.com/docs/api-reference/chat/object",
    )
    examples = (
        Example("no total", [TEXT, _end(_SOME), DONE], [TEXT, _end(USAGE), DONE]),
        Example(
            "other names",
            [TEXT, _end(_OTHER), DONE],
            [TEXT, _end({**_OTHER, **USAGE}), DONE],
        ),
        Example.of_body(
            "total alone",
            completion(HI, usage={"total_tokens": 5}),
            completion(
                HI,
                usage={"total_tokens": 5, "prompt_tokens": 0, "completion_tokens": 0},
            ),
        ),
        Example.untouched("whole", [TEXT, _end(USAGE), DONE]),
    )

    def edit(self, chunk: Chunk) -> bool:
        """Add the counts."""
        usage = chunk.get("usage")
        if not isinstance(usage, dict) or all(x is None for x in usage.values()):
            return False
        missing = [key for key in COUNTS if usage.get(key) is None]
        if not missing:
            return False
        prompt = _count(usage, "prompt_tokens", "input_tokens")
        answer = _count(usage, "completion_tokens", "output_tokens")
        total = _count(usage, "total_tokens")
        if total is not None:
            prompt = max(total - answer, 0) if prompt is None and answer else prompt
            answer = max(total - prompt, 0) if answer is None and prompt else answer
        prompt, answer = prompt or 0, answer or 0
        total = prompt + answer if total is None else total
        counts = dict(zip(COUNTS, (prompt, answer, total), strict=True))
        usage.update({key: counts[key] for key in missing})
        return True

    body = edit


def _count(usage: Chunk, *names: str) -> int | None:
    found = [each for name in names if isinstance(each := usage.get(name), int)]
    return found[0] if found else None
