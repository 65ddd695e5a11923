from llm_normalize.wire.header import header_in

FIELDS = ((b"Host", b"a"), (b"Accept-Encoding", b"gzip"), (b"accept-encoding", b"br"))


def test_header_is_found_however_it_is_spelled() -> None:
    assert header_in(FIELDS, b"accept-encoding") == "gzip, br"
    assert header_in(FIELDS, b"cookie") == ""
