"""A chunk or a body within an envelope of the provider's own."""

from ...chat.chunks.chunk import Chunk
from ...chat.flat_answer import open_envelope
from ...chat.state.stream_state import Asked
from ...repair.fix import BODY, TEXT, USAGE, Example, Fix, chunk
from ...repair.look import Finding


class ChoicesEnveloped(Fix):
    """Send what is in it, and what stands beside that, without the words of success."""

    name = "choices-enveloped"
    changes = '`{"data": {"choices": …}, "success": true}` -> `{"choices": …}`'
    why = "No OpenAI client finds the answer."
    providers = ("Cline's API", "CliRelay", "gateways with a `code` and a `msg`")
    handles = Finding.NO_CHOICES
    sources = (
        "https://github.com/cline/cline/issues/13348",
        "https://github.com/kittors/CliRelay/pull/569",
    )
    examples = (
        Example(
            "stream",
            [{"code": 200, "msg": "ok", "data": TEXT}, {"response": TEXT}],
            [TEXT, TEXT],
            ended=False,
        ),
        Example.of_event(
            "usage",
            {"data": chunk(None, usage=USAGE), "code": 0},
            chunk(None, usage=USAGE),
            asked=Asked(stream=True, usage=True),
        ),
        Example.of_body("body", {"data": BODY, "success": True}, BODY),
        Example.of_body(
            "usage beside it",
            {"output": {**BODY, "usage": None}, "usage": USAGE, "request_id": "r"},
            {**BODY, "request_id": "r"},
        ),
        Example.untouched("a failure", [{"data": BODY, "success": False}], kind="body"),
        Example.untouched("a code", [{"data": BODY, "code": 500}], kind="body"),
        Example.untouched("no envelope", [{**TEXT, "data": BODY}], ended=False),
    )

    def edit(self, chunk: Chunk) -> bool:
        """Open the envelope."""
        return open_envelope(chunk)

    body = edit
