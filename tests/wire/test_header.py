import pytest
from mitmproxy import http

from llm_normalize.wire.header import header_in, host_in, with_header, without_header

FIELDS = ((b"Host", b"a"), (b"Accept-Encoding", b"gzip"), (b"accept-encoding", b"br"))


def test_header_is_found_however_it_is_spelled() -> None:
    assert header_in(FIELDS, b"accept-encoding") == "gzip, br"
    assert header_in(FIELDS, b"cookie") == ""


@pytest.mark.parametrize("version", ["HTTP/1.1", "HTTP/2.0", "HTTP/3"])
@pytest.mark.parametrize(
    "authority", [b"", b"a.test:8", b"xn--bcher-kva.test", b"xn--\xff.test", b"\xe9"]
)
@pytest.mark.parametrize("fields", [(), ((b"HOST", b"b.test"),)])
def test_host_is_named_as_mitmproxy_says(
    version: str, authority: bytes, fields: tuple[tuple[bytes, bytes], ...]
) -> None:
    made = http.Request.make("GET", "http://up.test/")
    made.http_version, made.headers = version, http.Headers(fields)
    made.data.authority = authority
    said = host_in(made.data.http_version, authority, fields)
    if not authority and version != "HTTP/1.1":
        assert said == (made.headers.get("host") or "")
    assert said == (made.host_header or "")


def test_header_takes_the_place_of_the_first_of_its_name() -> None:
    found = with_header(FIELDS, b"accept-encoding", b"identity")
    assert found == ((b"Host", b"a"), (b"Accept-Encoding", b"identity"))
    assert with_header(FIELDS[:1], b"x", b"y") == (FIELDS[0], (b"x", b"y"))


@pytest.mark.parametrize(("name", "left"), [(b"accept-encoding", 1), (b"host", 2)])
def test_header_is_dropped_wherever_it_is(name: bytes, left: int) -> None:
    assert without_header(FIELDS, name) == tuple(
        field for field in FIELDS if field[0].lower() != name
    )
    assert len(without_header(FIELDS, name)) == left


def test_fields_without_it_are_the_same_ones() -> None:
    assert without_header(FIELDS, b"cookie") is FIELDS
