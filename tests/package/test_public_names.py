"""What users and their tools call by name; a name may be added here, none may go."""

import json
from pathlib import Path
from typing import Any

import pytest

from llm_normalize.fixes import EVERY_FIX
from llm_normalize.native_fixes import NATIVE_FIXES
from llm_normalize.request.adaptations import ADAPTATIONS
from proxies import BAD, Proxy, chat_flow, connected

NAMES: dict[str, Any] = json.loads(
    Path(__file__).with_name("public_names.json").read_text("utf-8")
)


def test_no_option_is_lost(proxy: Proxy) -> None:
    assert set(NAMES["options"]) <= set(proxy.context.options.keys())


def test_no_command_is_lost(proxy: Proxy) -> None:
    assert set(NAMES["commands"]) <= set(proxy.context.master.commands.commands)


def test_no_fix_is_lost() -> None:
    assert set(NAMES["fixes"]) <= {each.name for each in EVERY_FIX}
    assert set(NAMES["native_fixes"]) <= {each.name for each in NATIVE_FIXES}


def test_no_adaptation_is_lost() -> None:
    assert set(NAMES["adaptations"]) <= {each.name for each in ADAPTATIONS}


@pytest.mark.parametrize("kind", ["pair", "request", "flow"])
def test_log_record_begins_with_the_keys_it_had(proxy: Proxy, kind: str) -> None:
    proxy.set(normalize_models=["gpt=acme-1"])
    request = {"model": "gpt", "stream": True, "prompt_cache_key": "x"}
    made = chat_flow(request=request)
    made.response = None
    proxy.addon.requestheaders(made)
    proxy.addon.request(made)
    connected(made)
    made.response = chat_flow().response
    proxy.stream(made, BAD)
    records = proxy.records(kind)
    assert records
    assert {tuple(each) for each in records} == {tuple(NAMES["log"][kind])}
