"""Texts that grow are remembered by host and model, from one answer to the next."""

from pathlib import Path

from chat.chunks.test_text_growth import END, GROWING, stream, text_of
from llm_normalize.repair.fix import chunk, wire
from proxies import Proxy, chat_flow


def test_host_and_model_that_have_proved_it_are_remembered(tmp_path: Path) -> None:
    once = "TeaTea comesTea comes fromTea comes from Asia."
    with Proxy(tmp_path) as proxy:
        flows = [chat_flow() for _ in range(3)]
        other = chat_flow(request={"model": "n", "stream": True})
        alien = chat_flow()
        alien.request.headers["authorization"] = "Bearer another"
        texts = [text_of(proxy.stream(each, stream(GROWING))) for each in flows]
        assert texts == [once, GROWING[-1], GROWING[-1]]
        assert text_of(proxy.stream(other, stream(GROWING))) == once
        assert text_of(proxy.stream(alien, stream(GROWING))) == once
        at_once = [chat_flow(), chat_flow()]
        outs = [b"", b""]
        for each in at_once:
            proxy.addon.responseheaders(each)
        parts = (
            ["One", "Two"],
            ["One, so", "Two, as"],
            ["One, so it is not", "Two, as he said"],
        )
        for part in parts:
            for at, each in enumerate(at_once):
                outs[at] += proxy.feed(each, wire([chunk({"content": part[at]})]))
        for at, each in enumerate(at_once):
            outs[at] += proxy.feed(each, wire(END)) + proxy.feed(each, b"")
            proxy.addon.response(each)
        assert [text_of(out) for out in outs] == [*parts[-1]]
        pairs = list(proxy.records("pair"))
    assert {"content-cumulative"} <= {name for each in pairs for name in each["fixes"]}
