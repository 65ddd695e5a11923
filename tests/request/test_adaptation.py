"""Every adaptation keeps what it declares: its examples, its hosts, its hands off the rest."""

import copy
import re
from pathlib import Path
from typing import Any

import pytest

from llm_normalize.options import EVERY
from llm_normalize.request.adaptation import (
    LEARNED,
    Adaptation,
    RequestExample,
    messages,
)
from llm_normalize.request.adaptations import ADAPTATIONS
from llm_normalize.request.adaptations.thinking import ThinkingFormRefused
from llm_normalize.request.refusals.dropped_parameters import apply, changes_for
from llm_normalize.request.refusals.refusal_parser import refusal_of
from llm_normalize.routing.hosts import HostPattern, Hosts
from llm_normalize.routing.known_providers import HOSTS
from llm_normalize.wire.json_text import dumps, loads

EXAMPLES = [
    pytest.param(each, example, id=f"{each.name}/{example.name}")
    for each in ADAPTATIONS
    for example in each.examples
]
CASES: list[dict[str, Any]] = [
    loads(line)
    for line in Path(__file__)
    .with_name("refused_forms.jsonl")
    .read_bytes()
    .splitlines()
]
DECLARED = [each for each in ADAPTATIONS if each.hosts]
FORMS = [each for each in ADAPTATIONS if not each.hosts and each.name != LEARNED]
"""What a refusal may ask for: each is for no host of its own."""
OPENAI: Any = {
    "model": "gpt-5",
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Hello"},
        {"role": "user", "content": "How are you?"},
    ],
    "stream": True,
    "temperature": 1,
    "max_tokens": 9,
}


def edited(each: type[Adaptation], example: RequestExample) -> tuple[Any, list[Any]]:
    body: Any = loads(dumps(example.before))
    if not each.is_for_model(body.get("model")):
        return body, []
    if each.hosts:
        return body, each().edit(body)
    found = changes_for(refusal_of(example.refusal), body)
    edits = [edit for change in found for edit in apply(change, body)]
    assert {change.by for change in found} == ({each.name} if edits else set())
    return body, edits


@pytest.mark.parametrize(("each", "example"), EXAMPLES)
def test_example_comes_out_as_declared(
    each: type[Adaptation], example: RequestExample
) -> None:
    body, edits = edited(each, example)
    assert dumps(body) == dumps(example.after)
    assert bool(edits) is example.changes
    again = RequestExample.untouched("again", body, example.refusal)
    assert edited(each, again) == (body, [])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["why"])
def test_words_change_no_more_than_they_refuse(case: dict[str, Any]) -> None:
    body = copy.deepcopy(case["before"])
    refusal = refusal_of(dumps({"error": {"message": case["words"]}}))
    for change in changes_for(refusal, body):
        apply(change, body)
    assert body == case["after"]


@pytest.mark.parametrize("each", ADAPTATIONS, ids=lambda each: each.name)
def test_declaration_is_complete(each: type[Adaptation]) -> None:
    assert re.fullmatch(r"[a-z]+(-[a-z]+)+", each.name)
    assert each.changes
    assert each.why.endswith(".")
    assert each.sources
    assert all(re.match(r"https://\S+$", source) for source in each.sources)
    assert any(example.changes for example in each.examples)
    assert any(not example.changes for example in each.examples)
    assert len({example.name for example in each.examples}) == len(each.examples)
    assert each.__doc__


@pytest.mark.parametrize("each", DECLARED, ids=lambda each: each.name)
def test_hosts_are_known_providers(each: type[Adaptation]) -> None:
    assert each.hosts
    known = Hosts.parse(HOSTS)
    for host in each.hosts:
        assert str(HostPattern.parse(host)) == host
        assert known.include(host, 443)
        assert each.is_for(host.upper(), 443)
        assert not each.is_for(f"{host}.evil.test", 443)
    assert not each.is_for("api.openai.com", 443)


def test_what_is_learned_is_for_no_host_of_its_own() -> None:
    (learned,) = (each for each in ADAPTATIONS if each.name == LEARNED)
    assert ADAPTATIONS[-1] is learned
    assert not learned.is_for("api.mistral.ai", 443)
    assert learned().edit({"seed": 7}) == []


def test_names_are_unique_among_fixes_too() -> None:
    names = [each.name for each in EVERY]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("each", ADAPTATIONS, ids=lambda each: each.name)
@pytest.mark.parametrize(
    "body", [OPENAI, {}, {"messages": None}, {"messages": ["x", 7]}]
)
def test_what_is_right_stays(each: type[Adaptation], body: Any) -> None:
    if body is OPENAI and each in FORMS:
        return  # it is for requests that were refused
    changed = copy.deepcopy(body)
    assert each("1").edit(changed) == []
    assert changed == body


@pytest.mark.parametrize("each", FORMS, ids=lambda each: each.name)
def test_form_changes_nothing_in_what_it_replaces(each: type[Adaptation]) -> None:
    for example in each.examples:
        (wanted, *_) = refusal_of(example.refusal).forms
        before = copy.deepcopy(example.before)
        each(wanted.value).edit({**before})
        assert before == example.before


def test_models_are_recognised_by_their_names() -> None:
    class One(Adaptation):
        models = "^@cf/|mixtral"

    assert One.is_for_model("@cf/a")
    assert One.is_for_model("mistralai/Mixtral-8x7b")
    assert not One.is_for_model("a/@cf/b")
    assert not One.is_for_model(None)
    assert Adaptation.is_for_model(None)


def test_messages_of_a_role() -> None:
    body = {"messages": [{"role": "user"}, "x", {"role": "tool"}]}
    assert list(messages(body)) == [{"role": "user"}, {"role": "tool"}]
    assert list(messages(body, "tool")) == [{"role": "tool"}]


@pytest.mark.parametrize("limit", ["max_tokens", "max_completion_tokens"])
def test_budget_of_thinking_is_half_of_either_limit(limit: str) -> None:
    body: Any = {limit: 9000, "thinking": {"type": "adaptive"}}
    assert ThinkingFormRefused("enabled").edit(body)
    assert body["thinking"] == {"type": "enabled", "budget_tokens": 4500}
