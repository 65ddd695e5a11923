import gzip

import pytest

from llm_normalize.exchange.message.message_body import content_of
from llm_normalize.wire.limits import MAX_BODY
from proxies import chat_flow, response_of

MANY = b"[" + b"{}," * 50_000 + b"{}]"


def test_a_body_is_decoded_within_its_bound() -> None:
    made = chat_flow(request={"model": "m"})
    request, response = made.request, response_of(made)
    assert content_of(request) == b'{"model":"m"}'
    bomb = gzip.compress(bytes(MAX_BODY + 1))
    for message in (request, response):
        message.headers["content-encoding"] = "gzip"
        message.raw_content = bomb
        with pytest.raises(ValueError, match="larger than"):
            content_of(message)
    del request.headers["content-encoding"]
    request.raw_content = b'{"image":"%s"}' % (b"A" * MAX_BODY)
    assert content_of(request) == request.raw_content  # a long prompt is no bomb
    request.raw_content = MANY
    with pytest.raises(ValueError, match="too many values"):
        content_of(request)
    response.raw_content = None
    assert content_of(response) == b""
