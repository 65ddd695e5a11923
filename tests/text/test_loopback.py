import pytest

from llm_normalize.text.loopback import HOSTS, LOCAL, is_loopback


@pytest.mark.parametrize(
    "host",
    [
        *HOSTS,
        *("[::1]", "LocalHost.", "ip6-localhost", "ip6-loopback", "a.localhost"),
        *("127.1", "2130706433", "0x7f.1", "127.8.9.10", "::ffff:127.0.0.1"),
    ],
)
def test_loopback_has_many_spellings(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize(
    "host",
    ["", "0.0.0.0", "[::]", "a.test", "localhost.a.test", f"{LOCAL} a.test", "a" * 99],
)
def test_other_hosts_are_none(host: str) -> None:
    assert not is_loopback(host)
