from mitmproxy.test import tflow

from llm_normalize.echo import hide

KEY = "nvapi-canary-4711"


def test_key_that_was_echoed_is_hidden_whatever_is_known_of_the_answer() -> None:
    for length in (True, False):
        made = tflow.tflow(resp=True)
        assert made.response is not None
        made.response.content = f"bad key {KEY}".encode()
        if not length:
            del made.response.headers["content-length"]
        hide(made, KEY.encode())
        assert made.response.raw_content == b"bad key ***"
        told = made.response.headers.get("content-length")
        assert told == ("11" if length else None)
