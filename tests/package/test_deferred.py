from typing import Any

import pytest
from mitmproxy import exceptions
from mitmproxy.test import taddons

from llm_normalize.addon import Normalize
from llm_normalize.mitm.deferred_options import take_deferred, take_each
from proxies import Proxy, messages


def errors(
    proxy: Proxy, caplog: pytest.LogCaptureFixture, *texts: str, **values: Any
) -> list[str]:
    """Return what is logged of *texts* of the command line and *values* of a file."""
    proxy.context.options.set(*texts, defer=True)
    proxy.context.options.deferred.update(values)
    take_deferred()
    return messages(caplog, "ERROR")


def test_good_values_are_set(caplog: pytest.LogCaptureFixture) -> None:
    with taddons.context() as context:
        options = context.options
        options.set("normalize_only=false", "normalize_skip=a", defer=True)
        options.set("normalize_strict", defer=True)
        options.update_defer(normalize_hosts=["a.test"], brook="b")
        context.master.addons.add(Normalize())
        assert (options.normalize_only, options.normalize_strict) == (False, True)
        assert options.normalize_hosts == ["a.test"]
        assert options.deferred == {"brook": "b"}
        assert options.normalize_skip == ["a"]  # `configure` has not judged it yet
        context.master.event_loop.close()
    assert messages(caplog, "ERROR") == []


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("True", "'True': expected true or false (did you mean true?)"),
        ("OFF", "expected true or false (did you mean false?)"),
        ("maybe", "invalid normalize_strict 'maybe': expected true or false"),
        ("a\x1b", r"invalid normalize_strict 'a\x1b':"),
        (1, "1: expected true or false (did you mean true?)"),
        (None, "invalid normalize_strict (empty):"),
    ],
)
def test_what_is_no_switch_is_refused(
    proxy: Proxy, caplog: pytest.LogCaptureFixture, value: Any, says: str
) -> None:
    (said,) = errors(proxy, caplog, normalize_strict=value)
    assert says in said
    assert not said.endswith("?)") or "did you mean" in says
    if isinstance(value, str):
        proxy.context.options.deferred["normalize_strict"] = Text([value])
        take_deferred()
        assert messages(caplog, "ERROR") == [said, said]
    assert proxy.context.options.normalize_strict is False
    assert "normalize_strict" not in proxy.context.options.deferred


@pytest.mark.parametrize("option", ["normalize_retry", "normalize_keepalive"])
@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("sixty", "'sixty': expected a whole number"),
        ("60s", "'60s': expected a whole number"),
        ("60", "'60': expected a whole number, without quotes"),
        (1.5, "1.5: expected a whole number"),
        ([60], "[60]: expected a whole number"),
        (True, "True: expected a whole number"),
        (None, "(empty): expected a whole number"),
    ],
)
def test_what_is_no_number_is_refused(
    proxy: Proxy,
    caplog: pytest.LogCaptureFixture,
    option: str,
    value: Any,
    says: str,
) -> None:
    before = getattr(proxy.context.options, option)
    (said,) = errors(proxy, caplog, **{option: value})
    assert f"invalid {option} {says}" in said
    assert getattr(proxy.context.options, option) == before


class Text:
    """What mitmproxy makes of a value on the command line."""

    def __init__(self, val: list[str]) -> None:
        self.val = val


def test_other_types_are_named(proxy: Proxy, caplog: pytest.LogCaptureFixture) -> None:
    hosts, size, keys, gate = errors(
        proxy,
        caplog,
        normalize_hosts="a.test",
        normalize_pairs_size=64,
        normalize_keys="nvapi-1",
        normalize_gate=Text(["nvapi-1", "nvapi-2"]),
    )
    assert "invalid normalize_hosts 'a.test': expected a list" in hosts
    assert "invalid normalize_pairs_size 64: expected one text" in size
    assert "invalid normalize_keys: expected a list" in keys
    assert "invalid normalize_gate: expected one text" in gate
    assert "nvapi" not in caplog.text


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("normalise_strict", "normalize_strict"),
        ("normalize-pairs-size", "normalize_pairs_size"),
        ("Normalize_Host", "normalize_hosts"),
        ("nomalize_keys", "normalize_keys"),
    ],
)
def test_misspelled_name_is_refused(
    proxy: Proxy, caplog: pytest.LogCaptureFixture, name: str, meant: str
) -> None:
    (said,) = errors(proxy, caplog, f"{name}=nvapi-1")
    assert said == f"normalize: unknown option {name}: did you mean {meant}?"


def test_name_like_no_other_gets_all_of_them(
    proxy: Proxy, caplog: pytest.LogCaptureFixture
) -> None:
    (said,) = errors(proxy, caplog, "normalize_brook=1", "anonymize_hosts=b", "foo")
    assert (
        "unknown option normalize_brook: expected one of normalize_gate, normalize_adapt, normalize_also"
        in said
    )
    assert "normalize_outbound_headers" not in said  # it is mitmproxy's own


def test_value_that_is_missing_is_called_so(
    proxy: Proxy, caplog: pytest.LogCaptureFixture
) -> None:
    (said,) = errors(proxy, caplog, normalize_mode=Text([]))
    assert (
        said == "normalize: invalid normalize_mode (empty): expected one text"
        ", in quotes"
    )


def test_bad_value_of_another_addon_is_reported_in_its_words(
    proxy: Proxy, caplog: pytest.LogCaptureFixture
) -> None:
    (said,) = errors(proxy, caplog, listen_port=8080, mode=["no-such-mode"])
    assert "no-such-mode" in said
    assert proxy.context.options.deferred == {}
    assert proxy.context.options.listen_port == 8080


@pytest.mark.usefixtures("proxy")
def test_each_value_counts_by_itself_and_the_gate_first(
    caplog: pytest.LogCaptureFixture,
) -> None:
    taken: list[str] = []

    def take(updated: set[str]) -> None:
        taken.extend(updated)
        if updated & {"normalize_gate", "normalize_mode"}:
            raise exceptions.OptionsError(f"{updated} is bad")

    take_each(take)
    assert taken[0] == "normalize_gate"
    assert {"normalize_hosts", "normalize_cors", "normalize_skip"} < {*taken}
    assert len(taken) == len({*taken})
    assert messages(caplog, "ERROR") == [
        "normalize: {'normalize_gate'} is bad",
        "normalize: {'normalize_mode'} is bad",
    ]
