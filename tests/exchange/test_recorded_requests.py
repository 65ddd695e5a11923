"""Recorded requests: what is accepted is never changed, and a form loses nothing.

The folder of recordings is the one of `test_recorded`.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from llm_normalize.request.adaptation import TRANSLATED
from llm_normalize.request.adaptations import ADAPTATIONS
from llm_normalize.request.refusals.dropped_parameters import apply, changes_for
from llm_normalize.request.refusals.refusal_parser import refusal_of
from llm_normalize.request.refusals.refusal_table import rows
from llm_normalize.wire.json_text import dumps, loads
from properties.test_recorded import ENTRIES, FOLDER
from proxies import GOOD_BODY, Proxy, chat_flow, response_of

REQUESTS = [dumps(each["request_body"]) for each in ENTRIES if each.get("request_body")]

pytestmark = pytest.mark.skipif(
    not REQUESTS, reason=f"no recorded answers in {FOLDER}; LLM_CAPTURES names a folder"
)


SAYING = "content text arguments url"
FORMS = {each.name for each in ADAPTATIONS if TRANSLATED in each.sent_as}
SPARE = "top_p temperature parallel_tool_calls reasoning_effort reasoning thinking"


def texts(value: Any, at: str = "", only: str = SAYING) -> Iterator[str]:
    """Yield the words of messages, and the arguments of calls, in order."""
    if isinstance(value, str) and at in only.split():
        yield value
    for key, each in value.items() if isinstance(value, dict) else ():
        yield from texts(each, key, only)
    for each in value if isinstance(value, list) else ():
        yield from texts(each, at, only)


def test_request_that_is_accepted_is_sent_as_it_came(tmp_path: Path) -> None:
    with Proxy(tmp_path) as proxy:
        for content in REQUESTS:
            made = chat_flow(request={}, host="models.example")
            proxy.set(normalize_hosts=["models.example"])
            made.request.content = content
            response, made.response = made.response, None
            proxy.addon.requestheaders(made)
            proxy.addon.request(made)
            made.response = response
            proxy.addon.responseheaders(made)
            response_of(made).raw_content = dumps(GOOD_BODY)
            proxy.respond(made)
            assert made.request.raw_content == content


@pytest.mark.parametrize(
    "row", rows(), ids=lambda row: f"{row.form.name}/{row.said[0].provider}"
)
def test_form_loses_no_word_and_is_taken_once(row: Any) -> None:
    refusal = refusal_of(dumps({"error": {"message": row.said[0].words}}))
    for content in REQUESTS:
        before, body = loads(content), loads(content)
        for change in changes_for(refusal, body, forms=FORMS):
            apply(change, body)
        assert changes_for(refusal, body, forms=FORMS) == []
        # Of Messages, instructions have a field of their own.
        said = "\n".join(texts([body["messages"], {"content": body.get("system")}]))
        if row.form.name == "attachment-refused":  # it goes, and a sentence says so
            said += "\n".join(texts(before["messages"], only="url"))
        assert all(each in said for each in texts(before["messages"]))
        assert len(body.get("tools") or ()) >= len(before.get("tools") or ())
        spare = SPARE.split() + ([] if before.get("tools") else ["tool_choice"])
        if "Answer in JSON" in said:
            spare.append("response_format")
        assert before.keys() - body.keys() <= {*spare}
