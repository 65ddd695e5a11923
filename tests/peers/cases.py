"""What is declared of a peer: what it gets wrong, and what clients make of that."""

from collections.abc import Sequence
from dataclasses import dataclass

from peers.asking import Json

CAREFUL = "openai2-careful"  # create(), every field tested
HELPER = "openai2-helper"  # .stream() and .parse()
STRICT = "openai2-strict"  # the SDK's types, nothing coerced
ONE_API = "one-api"  # a line scanner into Go's types, in the manner of one-api
CLIENTS = (CAREFUL, HELPER, STRICT, ONE_API)


@dataclass(frozen=True)
class Case:
    """One answer of a peer.

    Attributes:
        name: What is asked.
        asked: The request.
        right: What each client says that it got, with the addon.
        fixes: The fixes that fire, by name.
        breaches: The parts of the form that are broken without the addon.
        shown: Of a stream of text, what a page adds up without the addon; None if it
            waits for more.
        wrong: The clients that say something else without the addon.
        clients: Those that ask.
        status: The HTTP status.
        answer: What a scripted provider sends, and whether that is a stream.
    """

    name: str
    asked: Json
    right: Json
    fixes: str = ""
    breaches: str = ""
    shown: str | None = ""
    wrong: Sequence[str] = ()
    clients: Sequence[str] = CLIENTS
    status: int = 200
    answer: tuple[Sequence[bytes], bool] | None = None

    def expected(self, client: str) -> Json:
        """Return what *client* should say: not all of them report the same."""
        if client == STRICT:
            return {"faults": []}
        said = dict(self.right)
        stream = "stream" in self.asked
        if client == ONE_API and not stream:
            said.pop("finish", None)
        if client == HELPER and stream:
            calls = ["call"] * len(said["calls"])
            said["done"] = ["text"] * bool(said["text"]) + calls
        return said


@dataclass(frozen=True)
class Peer:
    """A server that is asked through the addon.

    Attributes:
        name: What people call it.
        cases: What is asked.
        server: The program in `servers/`; None for a scripted provider.
    """

    name: str
    cases: Sequence[Case]
    server: str | None = None
