"""Arguments that are an object."""

from ...native_fix import NativeFix, ResponsesExample
from ...response_events import CALLED, call, done


class CallArgumentsObject(NativeFix):
    """Spell them."""

    name = "call-arguments-object"
    changes = "`arguments`: an object -> JSON in a string"
    why = "Every client parses a string there, and raises."
    providers = ("cc-switch", "gateways")
    sources = (
        "https://github.com/farion1231/cc-switch/pull/5100",
        "https://github.com/teamchong/pxpipe/pull/131",
    )
    examples = (
        ResponsesExample(
            "of an item",
            [*CALLED[:5], done(5, {**call("{}"), "arguments": {}}), CALLED[6]],
            CALLED,
        ),
        ResponsesExample.untouched("OpenAI's own", CALLED),
    )
