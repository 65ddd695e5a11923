"""Real clients report through the addon what they report of OpenAI's own shape."""

import os
import re

import pytest

import form
from clients.environments import EnvironmentLackingError, runners
from clients.families import FAMILIES, Answer, Family, Json
from clients.matrix import CLIENTS, Cell, Matrix
from clients.servers import Proxy

# What goes wrong without repair: were it not noticed, nothing here would prove a thing.
_ERRORS = (
    "nim-error-404",
    "nim-error-404-body",
    "nim-error-404-plain",
    "nim-error-429",
)
_HELPER = (
    "nim-call-whole",
    "nim-call-whole-usage",
    "nim-call-no-index",
    "nim-two-calls-no-index",
    "nim-head-repeated",
    "sglang-call-nulls",
    "role-missing",
    "finish-missing",
    "finish-missing-call",
    "body-content-null",
    "body-role-missing",
    "body-usage-missing",
    *_ERRORS,
)
BROKEN = {
    "openai2-careful": (
        "nim-call-no-index",
        "nim-two-calls-no-index",
        "nim-head-repeated",
        "finish-missing",
        "body-content-null",
        *_ERRORS,
    ),
    "openai2-short": ("nim-usage-each-unasked", "usage-unasked", *_ERRORS),
    "openai2-page": ("nim-text", "finish-with-text", "body-content-null", *_ERRORS),
    "openai2-helper": _HELPER,
    "openai2-strict": (
        "nim-call-no-index",
        "nim-two-calls-no-index",
        "body-role-missing",
    ),
    "openai1-helper": (*_HELPER, "fields-event-id"),
    "one-api": ("data-no-space", "data-several-lines", "finish-missing", *_ERRORS),
}

CELLS = [(client, family) for client in CLIENTS for family in FAMILIES]


def cell(matrix: Matrix, client: str, family: str) -> Cell:
    try:
        return matrix.cell(client, family)
    except EnvironmentLackingError as error:
        reason = f"no environment for {client}: {error}"
    if os.environ.get("CI"):
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


@pytest.mark.parametrize(("client", "family"), CELLS)
def test_client_sees_what_openai_would_have_sent(
    matrix: Matrix, client: str, family: str
) -> None:
    found = cell(matrix, client, family)
    assert found.after == found.wanted


@pytest.mark.parametrize(
    ("client", "family"),
    [(client, family) for client in BROKEN for family in BROKEN[client]],
)
def test_client_fails_without_the_addon(
    matrix: Matrix, client: str, family: str
) -> None:
    found = cell(matrix, client, family)
    assert found.before["outcome"] != found.wanted["outcome"]


@pytest.mark.parametrize("client", CLIENTS)
def test_client_is_content_with_openais_own_shape(matrix: Matrix, client: str) -> None:
    assert not cell(matrix, client, "openai-text").wanted["outcome"].get("error")


def test_proxy_has_nothing_to_complain_of(matrix: Matrix, proxy: Proxy) -> None:
    for runner in runners():
        cell(matrix, next(iter(runner.clients)), "openai-text")
    proxy.wait_quiet()
    complaints = ("Traceback", "crashed", "is left out", "passes as it is", "stays as")
    assert [
        line for line in proxy.lines if any(map(line.__contains__, complaints))
    ] == []


def breaches(answer: Answer, request: Json) -> list[str]:
    data = b"".join(answer.pieces)
    if answer.status != 200:
        return form.check_error_body(data)
    asked = form.Request.from_body(request, stream="stream" in request)
    return (form.check_stream if asked.stream else form.check_body)(data, asked)


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_family_is_a_quirk_and_its_reference_has_the_form(family: Family) -> None:
    assert breaches(family.openai, family.request) == []
    assert (breaches(family.quirk, family.request) == []) == family.conforms


def test_locks_pin_everything_exactly() -> None:
    for runner in runners():
        if not runner.lock.exists():
            continue
        for line in runner.lock.read_text().splitlines():
            assert line.startswith("#") or re.fullmatch(r"[\w.-]+==[\w.]+", line), line
