import pytest

from llm_normalize.wire.header import header_in, with_header, without_header

FIELDS = ((b"Host", b"a"), (b"Accept-Encoding", b"gzip"), (b"accept-encoding", b"br"))


def test_header_is_found_however_it_is_spelled() -> None:
    assert header_in(FIELDS, b"accept-encoding") == "gzip, br"
    assert header_in(FIELDS, b"cookie") == ""


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
