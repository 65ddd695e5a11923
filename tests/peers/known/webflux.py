"""Spring WebFlux: what a gateway written with it makes of anybody's chunks."""

from peers.asking import ask
from peers.cases import CAREFUL, HELPER, ONE_API, STRICT, TEXT, Case, Peer, called
from peers.scripted import webflux

# After an `id` the SDK takes a comment alone for an event, and its data for JSON.
EMPTY = "Expecting value: line 1 column 1 (char 0)"

PEER = Peer(
    name="Spring WebFlux",
    cases=(
        Case(
            "text-stream",
            ask("qwen-plus", stream=True),
            TEXT,
            answer=webflux(
                {"role": "assistant", "content": ""},
                {"content": "Tea at"},
                "keep-alive",
                {"content": " five."},
                {"finish": "stop"},
            ),
            fixes="comment-sent data-space-missing field-not-data",
            breaches="framing",
            wrong=(CAREFUL, HELPER, STRICT, ONE_API),
            shown=None,
        ),
        Case(
            "call-stream",
            ask("qwen-plus", stream=True, tools=True),
            called("ring_bell", '{"times":2}'),
            answer=webflux(
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [
                        {
                            "index": 0,
                            "id": "call_7f0a",
                            "type": "function",
                            "function": {"name": "ring_bell", "arguments": ""},
                        }
                    ],
                },
                {
                    "tool_calls": [
                        {"index": 0, "function": {"arguments": '{"times":2}'}}
                    ]
                },
                {"finish": "tool_calls"},
            ),
            fixes="data-space-missing field-not-data",
            breaches="framing",
            wrong=(ONE_API,),
        ),
    ),
)
