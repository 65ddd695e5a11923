import json
from pathlib import Path

from proxies import BAD, GOOD, HOST, Proxy, chat_flow, connected, response_of

OPENAI = "api.openai.com"


def test_request_that_waits_at_a_reload_keeps_its_route(tmp_path: Path) -> None:
    """The next addon repairs the answer, and the flow shows what was asked."""
    made = chat_flow(host=OPENAI, request={"model": "gpt-4o", "stream": True})
    answer, made.response = made.response, None
    (tmp_path / "1").mkdir()
    (tmp_path / "2").mkdir()
    with Proxy(tmp_path / "1") as before:
        before.set(
            normalize_routes=[f"{OPENAI}=https://other.test/base"],
            normalize_models=["gpt-4o=meta/llama"],
        )
        before.addon.requestheaders(made)
        before.addon.request(made)
        connected(made)
        before.addon.done()
    assert made.request.host == "other.test"
    json.dumps(made.metadata)  # mitmproxy may save it meanwhile
    with Proxy(tmp_path / "2") as after:
        made.response = answer
        out = after.stream(made, BAD)
        assert out == GOOD.replace(b'"acme-1"', b'"gpt-4o"')
        (record,) = after.records("flow")
    assert (record["host"], record["model"]) == ("other.test", "gpt-4o")
    assert made.request.host == OPENAI
    assert made.metadata.keys() == {"llm_normalize"}


def test_flow_without_a_route_has_nothing_to_hand_over(tmp_path: Path) -> None:
    made = chat_flow(host=HOST)
    with Proxy(tmp_path) as proxy:
        proxy.addon.requestheaders(made)
        proxy.addon.done()
        assert made.metadata == {}
        proxy.addon.responseheaders(made)
        assert callable(response_of(made).stream)
