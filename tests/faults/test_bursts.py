"""A provider sends at once what takes long to repair: the rest of it is read later."""

import pytest

from faults.held import Held
from faults.rig import ASKED, HTTP1, HTTP2, Rig
from llm_normalize.chat.state.asked import Asked
from llm_normalize.fixes import FIXES
from llm_normalize.repair.engine.pipeline import Pipeline
from llm_normalize.repair.fix import DONE, chunk, wire
from support import Break, Mitmdump, Provider

COUNT = 1500
UNLIKE = wire(
    [
        chunk({"role": None, "content": f"w{at}"}, **{f"k{at}": at})
        for at in range(COUNT)
    ]
)
OPENING = wire([chunk({"role": "assistant", "content": ""})])
FINISH = wire([chunk({}, finish="stop")])
WAYS = [(HTTP1, HTTP1), (HTTP2, HTTP1), (HTTP1, HTTP2), (HTTP2, HTTP2)]


def repaired(data: bytes, *, ends: bool) -> bytes:
    """Return what *data* becomes where there is time for all of it."""
    pipeline = Pipeline(Asked(stream=True), FIXES)
    out = pipeline.feed(data)
    return b"".join(out + pipeline.end() if ends else out)


def parts(data: bytes) -> list[bytes]:
    """Return *data* in parts that HTTP/2 has frames for."""
    return [data[at : at + 10_000] for at in range(0, len(data), 10_000)]


def rig_of(
    explicit: Mitmdump, secure: dict[str, Provider], way: tuple[str, str]
) -> Rig:
    client, provider = way
    return Rig(explicit, secure[provider], client, tunnelled=True)


@pytest.mark.fault("burst")
@pytest.mark.parametrize("way", WAYS)
def test_burst_of_unlike_events_is_repaired_wholly(
    explicit: Mitmdump, secure: dict[str, Provider], way: tuple[str, str]
) -> None:
    rig = rig_of(explicit, secure, way)
    data = OPENING + UNLIKE + FINISH + DONE
    script = rig.provider.script(*parts(data))
    with rig.bystander():
        assert rig.ask(script) == repaired(data, ends=True)
        *_, flow = explicit.records(script)
        assert (flow["end"], flow["events"]) == ("complete", COUNT + 3)


@pytest.mark.fault("burst-break")
@pytest.mark.parametrize("way", WAYS)
def test_break_comes_after_all_that_had_come(
    explicit: Mitmdump, secure: dict[str, Provider], way: tuple[str, str]
) -> None:
    rig = rig_of(explicit, secure, way)
    script = rig.provider.script(*parts(OPENING + UNLIKE + b"data: {"), Break.CUT)
    with rig.bystander(), rig.client() as client:
        reply = client.post(script.path, ASKED)
        assert reply.broken() == repaired(OPENING + UNLIKE, ends=False)
        *_, flow = explicit.records(script)
        assert flow["end"] == "upstream-broke"


@pytest.mark.fault("burst-leaves")
@pytest.mark.parametrize("client_speaks", [HTTP1, HTTP2])
def test_client_leaves_while_much_waits(
    holding: Mitmdump, secure: dict[str, Provider], held: Held, client_speaks: str
) -> None:
    rig = rig_of(holding, secure, (client_speaks, HTTP1))
    script = rig.provider.script(*parts(OPENING + UNLIKE * 4 + FINISH + DONE))
    with rig.bystander():
        with rig.client() as client:
            client.post(script.path, held.asked(ASKED)).until(b"w0")
            held.wait(holding, "turn")
        *_, flow = holding.records(script)  # though its turn is not over
        assert flow["end"] == "client-left"
        assert flow["events"] < 4 * COUNT
