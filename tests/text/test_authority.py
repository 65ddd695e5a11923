import pytest

from llm_normalize.text.network_address import address, bracketed, netloc


@pytest.mark.parametrize(("host", "spelled"), [("a.test", "a.test"), ("::1", "[::1]")])
def test_a_host_has_brackets_only_around_colons(host: str, spelled: str) -> None:
    assert bracketed(host) == spelled
    assert address(host, 81) == f"{spelled}:81"
    assert address(host, None) == spelled


@pytest.mark.parametrize(
    ("scheme", "port", "shown"),
    [
        ("http", 80, "a.test"),
        ("https", 443, "a.test"),
        ("http", 443, "a.test:443"),
        ("ftp", 21, "a.test:21"),
    ],
)
def test_the_port_of_a_scheme_goes_unsaid(scheme: str, port: int, shown: str) -> None:
    assert netloc(scheme, "a.test", port) == shown
