import io

from mitmproxy.io import FlowReader, FlowWriter
from mitmproxy.test import tflow

from llm_normalize.keyed import put, take_off

KEY = "nvapi-canary-4711"


def test_key_stands_in_the_headers_and_in_nothing_that_is_saved() -> None:
    made = tflow.tflow()
    made.request.headers["Authorization"] = "Bearer the-clients-own"
    made.request.headers["api-key"] = "the-clients-own"
    put(made, KEY, lambda: True)
    assert made.request.headers["authorization"] == f"Bearer {KEY}"
    assert "api-key" not in made.request.headers
    sent = made.request.copy()  # as mitmproxy sends it from HTTP/2 to HTTP/1
    assert sent.headers["authorization"] == f"Bearer {KEY}"
    file = io.BytesIO()
    FlowWriter(file).add(made)
    assert KEY.encode() not in file.getvalue()
    assert b"the-clients-own" not in file.getvalue()
    file.seek(0)
    (read,) = FlowReader(file).stream()
    assert read.request.headers["authorization"] == "***"  # type: ignore[attr-defined]
    assert KEY not in str(made.copy().request.headers)
    take_off(made)
    assert made.request.headers["authorization"] == "***"
    assert made.get_state()["request"]["path"] == made.request.data.path
