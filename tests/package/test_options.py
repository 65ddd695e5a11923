from typing import Any

import pytest
from mitmproxy import exceptions

from llm_normalize.exchange.state.exchange import Exchange
from proxies import HOST, Proxy, chat_flow

REFUSED: dict[str, list[tuple[Any, str]]] = {
    "hosts": [
        (["a.test", "b..test"], "'b..test': expected `host`"),
        (["https://a.test"], "'https://a.test': expected a host, not"),
    ],
    "skip": [
        (["no-such-fix"], "invalid normalize_skip 'no-such-fix': expected a fix"),
        (["a.test:no-such"], "normalize_skip 'a.test:no-such'"),
        (["b..test:content-null"], "'b..test:content-null': expected"),
    ],
    "adapt": [
        (["tools-empty"], "invalid normalize_adapt 'tools-empty'"),
        (["a.test:max-tokens-too-large"], "of one that needs no value"),
        (["a.test:content-null"], "invalid normalize_adapt 'a.test:content-null'"),
        (["a.test:parameter-learned"], "'a.test:parameter-learned': expected"),
        (["b..test:tools-empty"], "'b..test:tools-empty': expected"),
    ],
    "pairs_size": [
        ("large", "'large': expected a number of bytes"),
        *((each, f"invalid normalize_pairs_size '{each}'") for each in ("0", "-5", "")),
    ],
    "mode": [("watch", "'watch'")],
    "keepalive": [(-1, "normalize_keepalive -1: expected a number of seconds, 0")],
    "retry": [
        (-5, "invalid normalize_retry -5"),
        (True, "normalize_retry True: expected a number of seconds"),
    ],
}


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [(f"normalize_{name}", *each) for name, rows in REFUSED.items() for each in rows],
)
def test_a_bad_value_is_refused_by_name_and_the_old_one_stays(
    proxy: Proxy, option: str, value: Any, said: str
) -> None:
    old = getattr(proxy.context.options, option)
    state = (proxy.addon.options.hosts, proxy.addon.options.skip)
    with pytest.raises(exceptions.OptionsError) as caught:
        proxy.set(**{option: value})
    assert option in str(caught.value)
    assert said in str(caught.value)
    assert getattr(proxy.context.options, option) == old
    assert proxy.addon.options.hosts.include(HOST, 443)
    assert proxy.addon.options.skip == state[1]


@pytest.mark.parametrize("value", ["/", "a\0b", "~nobody-has-this-name/x"])
def test_a_pairs_path_that_cannot_be_written_is_refused(
    proxy: Proxy, value: str
) -> None:
    before = proxy.context.options.normalize_pairs
    with pytest.raises(exceptions.OptionsError, match="invalid normalize_pairs "):
        proxy.context.options.normalize_pairs = value
    assert proxy.context.options.normalize_pairs == before


def test_bad_gate_is_refused_and_the_old_one_counts(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_TOKEN", "token-0815")
    for old in ("", "env:A_TOKEN"):
        proxy.set(normalize_gate=old)
        gate = proxy.addon._routing.gate
        with pytest.raises(exceptions.OptionsError, match="expected env:NAME"):
            proxy.set(normalize_gate="token-0815")
        assert proxy.context.options.normalize_gate == old
        assert proxy.addon._routing.gate == gate


def test_settings_are_remembered_of_some_hosts_only(proxy: Proxy) -> None:
    addon = proxy.addon
    first = addon.settings.of(Exchange(chat_flow()))
    assert addon.settings.of(Exchange(chat_flow())) is first
    for number in range(300):
        flow = chat_flow()
        flow.request.host = f"h{number}.test"
        addon.settings.of(Exchange(flow))
    assert len(addon.settings._known) <= 256
    assert addon.settings.of(Exchange(chat_flow())) == first


def test_optional_repairs_are_off_unless_named(proxy: Proxy) -> None:
    flow = chat_flow()
    names = {fix.name for fix in proxy.addon.selection.of(flow.request).fixes}
    assert "think-as-text" not in names
    proxy.set(normalize_also=["think-as-text"])
    more = {fix.name for fix in proxy.addon.selection.of(flow.request).fixes}
    assert more - names == {"think-as-text"}
    with pytest.raises(exceptions.OptionsError, match="did you mean think-as-text"):
        proxy.set(normalize_also=["thinks-as-text"])
    with pytest.raises(
        exceptions.OptionsError, match="expected think-as-text or tool-call-as"
    ):
        proxy.set(normalize_also=["role-null"])


def test_gate_stays_shut_if_another_value_cannot_be_put_back(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OWN_KEY", "brook")
    monkeypatch.setenv("OWN_TOKEN", "token-0815")
    proxy.set(
        normalize_keys=["a.test=env:OWN_KEY"],
        normalize_gate="env:OWN_TOKEN",
    )
    monkeypatch.delenv("OWN_KEY")
    with pytest.raises(exceptions.OptionsError):
        proxy.set(normalize_keys=[], normalize_gate="", normalize_cors=["nonsense"])
    assert proxy.context.options.normalize_gate == "env:OWN_TOKEN"
    assert proxy.addon.options.gate is not None
    assert proxy.addon._routing.gate is proxy.addon.options.gate


def test_options_of_before_count_for_an_addon_that_a_program_adds(proxy: Proxy) -> None:
    for name, value in (("retry", 7), ("strict", True), ("pairs", "")):
        proxy.context.options._options[f"normalize_{name}"].value = value
    proxy.context.options.add_option("proxyauth", str, "", "as mitmdump has it")
    proxy.addon.running()
    values = proxy.addon.options
    assert (values.retry, values.strict, values.pairs) == (7, True, "")
