"""mitmproxy addon, the floor of the benchmark: answers are streamed, and no more."""

from mitmproxy import http


def responseheaders(flow: http.HTTPFlow) -> None:
    """Stream the answer."""
    assert flow.response is not None
    flow.response.stream = True
