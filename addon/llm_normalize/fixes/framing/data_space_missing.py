"""`data:{…}` without the one space, or with blanks around its value."""

from ...repair.fix import DONE, TEXT, Example, Fix, wire
from ...wire.sse import Event

_TIGHT = wire([TEXT]).replace(b"data: ", b"data:")


class DataSpaceMissing(Fix):
    """Write `data: ` with exactly one space before, and no blank after, the value."""

    name = "data-space-missing"
    changes = "`data:{…}` -> `data: {…}`"
    why = (
        "The standard makes the space optional, but line scanners that test for "
        "`data: ` skip every line without it: the answer is empty. `[DONE]` with a "
        "blank after it is not recognised."
    )
    providers = ("Spring WebFlux gateways", "iFlow", "Azure-fronting gateways")
    sources = (
        "https://html.spec.whatwg.org/multipage/server-sent-events.html",
        "https://github.com/spring-projects/spring-ai/issues/1089",
        "https://github.com/dataelement/Clawith/issues/106",
        "https://github.com/continuedev/continue/issues/5580",
    )
    examples = (
        Example.of_event("no space", _TIGHT, TEXT),
        Example("done", [b"data:[DONE]\n\n"], [DONE]),
        Example("blank after done", [b"data: [DONE] \n\n"], [DONE]),
        Example.untouched("one space", [TEXT], ended=False),
        Example.untouched("not a chunk", [b"data:hello\n\n"]),
    )

    def event(self, event: Event) -> list[Event] | None:
        """Respell the data lines."""
        changed = False
        for line in event.lines:
            if line.name == b"data":
                text = b"data: " + line.value.strip(b" \t")
                changed |= text != line.text
                line.text = text
        return [event] if changed else None
