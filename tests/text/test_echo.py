"""What a provider repeats of a request, in all the ways there are."""

import base64
import html
import json
import os
import subprocess
import sys
import urllib.parse
from pathlib import Path
from typing import Any

import pytest

from llm_normalize.records.masking import mask
from llm_normalize.text import echo as module
from llm_normalize.text.echo import Echo

PROMPT = (
    'Please summarise: my PIN is canary-4711, a "canary" of mine\n'
    "and a second canary-line with ümläuts and 我的密码是四七一一 at C:\\new"
)
FUNCTION = {
    "name": "f",
    "description": "canary-tool looks up the weather",
    "parameters": {"type": "object", "required": ["city"]},
}
REQUEST: dict[str, Any] = {
    "model": "model-7",
    "seed": 7,
    "user": "canary-user",
    "messages": [
        {"role": "system", "content": "Hi canary"},
        {"role": "user", "content": [{"type": "text", "text": PROMPT}]},
    ],
    "metadata": {"k": "canary-meta", "a canary, as a name": "x"},
    "tools": [{"type": "function", "function": FUNCTION}],
    "stop": ["canary-stop"],
}
MESSAGES = json.dumps(REQUEST["messages"]).encode()
SECRETS = (
    "Bearer sk-canary-key-1234567890",
    "sk-canary-key-1234567890",
    "canary-cookie",
)


def echo(request: Any = REQUEST) -> Echo:
    return Echo(json.dumps(request).encode(), SECRETS)


def wide(letter: str) -> str:
    return chr(ord(letter) + 0xFEE0) if "!" <= letter <= "~" else letter


def said(message: Any) -> dict[str, Any]:
    return {"error": {"message": message, "code": 400}}


FORMS: dict[str, Any] = {
    "as it is": said(f"Bad prompt: {PROMPT}"),
    "in a list of errors": {"detail": [{"msg": PROMPT, "loc": ["body"]}]},
    "in a field for it": {"detail": [{"input": PROMPT, "loc": ["body"]}]},
    "as Python prints it": said(f"bad: {REQUEST['messages']!r}"),
    "as Python prints its bytes": said(f"bad: {PROMPT.encode()!r}"),
    "in octal": said("bad: " + "".join(f"\\{each:03o}" for each in PROMPT.encode())),
    "in Latin-1": said("".join(f"\\x{ord(each):02x}" for each in PROMPT[:99])),
    "as JSON": said("bad: " + json.dumps(REQUEST["messages"])),
    "as JSON in JSON in JSON": said(json.dumps(json.dumps(REQUEST["messages"]))),
    "cut short": said(f"bad: {PROMPT[:44]}... and …{PROMPT[-30:]}"),
    "its first word": said(f"not allowed: {PROMPT[:9]}…"),
    "its beginning in quotes": said(f"not allowed: '{PROMPT[:9]}'"),
    "in other white space": said("bad: " + PROMPT.replace(" ", "\n\t ")),
    "as HTML": said("<p>" + html.escape(PROMPT).replace("\n", "<br/>") + "</p>"),
    "in capitals": said(PROMPT.upper()),
    "word by word": said({"words": PROMPT.split()}),
    "as the object it was": {"received": REQUEST["messages"], "error": "no"},
    "in base64": said(base64.b64encode(PROMPT.encode()).decode()[:190]),
    "in base64 within more": said(base64.urlsafe_b64encode(MESSAGES).decode()[:190]),
    "a key in base64": said(base64.b64encode(SECRETS[0].encode()).decode()),
    "in hexadecimal": said(PROMPT.encode().hex(" ")),
    "in code points": said("".join(f"\\u{{{ord(each):x}}}" for each in PROMPT)),
    "quoted twice": said("bad: " + urllib.parse.quote(urllib.parse.quote(PROMPT))),
    "in wide letters": said("".join(map(wide, PROMPT))),
    "as a URL": said("GET /?q=" + urllib.parse.quote(PROMPT)),
    "flat": {"message": f"no: {PROMPT}", "code": 400},
    "other strings": said("canary-user, canary-meta; canary-stop. a canary, as a name"),
    "one word of it": said("canary-4711 is bad"),
    "a key": said("Incorrect key: sk-canary-key-1234567890"),
    "a key without its middle": said("Incorrect key: sk-canary-k***567890"),
    "a cookie": said("canary-cookie"),
    "beside no choices": {"choices": [], **said(PROMPT)},
    "beside a warning": {"choices": [], "warning": PROMPT, "errors": 1},
    "in a choice": {"choices": [{"index": 0, "delta": {}, **said(PROMPT)}]},
    "as a finish reason": {"choices": [{"finish_reason": f"error {PROMPT}"}]},
}
TELLING = (
    "canary", "4711", "四", "\\u56db", "please su", "ümläut", "\\303", "\\x63", "\\u{63",
    "\uff50\uff4c", "63 61", "2fuyxj5", "y2fuyxj5", "lxriyw5hcnk",
)  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("ascii_only", [True, False])
def test_what_repeats_the_request_is_hidden(form: str, ascii_only: bool) -> None:
    spelled = json.dumps(FORMS[form], ensure_ascii=ascii_only)
    masked = mask(f"data: {spelled}\n\n", SECRETS, echo())
    assert not [each for each in TELLING if each in masked.lower()]
    value = json.loads(masked.removeprefix("data: "))
    assert FORMS[form].keys() == value.keys()
    assert masked.endswith("\n\n")


@pytest.mark.parametrize(
    "text",
    [
        f"event: error\ndata: oops, {PROMPT}\n\n",
        f"<html><body>{html.escape(PROMPT)}</body></html>",
        f": {PROMPT[:40]}\n\n",
        'data: {"error":{"message":"' + PROMPT,
    ],
)
def test_what_is_no_json_is_hidden_too(text: str) -> None:
    masked = mask(text, SECRETS, echo())
    assert "canary" not in masked
    assert masked.startswith(text[:2])


@pytest.mark.parametrize(
    "text",
    [
        f"data: {json.dumps({'choices': [{'delta': {'content': PROMPT}}]})}\n\n",
        json.dumps({"choices": [{"text": f"error {PROMPT}"}, 7], "error": None}),
        json.dumps({"choices": None, "id": "error", "n": 1, "error": None}),
        f"data: {json.dumps({'response': PROMPT})}\n\n",
        json.dumps({"message": {"role": "assistant", "content": PROMPT}}),
        json.dumps(said("model-7: messages[1] must be a string, not null")),
        'data: {"error" : {"message":"property of an object: 1.10, -0"}}\n\n',
        "data: [DONE]\n\n",
        'data: {"id":"1","usage":{"total_tokens":7}}\n\n',
        ": ping\n\n",
        "",
    ],
)
def test_what_a_model_or_a_provider_says_stays(text: str) -> None:
    assert mask(text, (), echo()) == text


def test_answer_with_a_bad_status_is_an_error_whatever_its_form() -> None:
    for value in ({"response": PROMPT}, {"choices": [{"text": PROMPT}]}):
        assert "canary" not in mask(json.dumps(value), SECRETS, echo(), is_error=True)


def test_what_is_no_json_is_a_string_of_its_own() -> None:
    for body in (b"my canary-prompt, raw", b"[" * 100_000 + b"canary-prompt, raw"):
        assert "canary" not in Echo(body).hidden("bad: canary-prompt, raw")


def test_what_is_nested_too_deeply_is_found_too() -> None:
    value: Any = "my canary-prompt"
    for _ in range(100):
        value = [value]
    assert "canary" not in echo(value).hidden("bad: canary-prompt")


def test_what_a_request_may_cost_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_REMEMBERED", 2)
    found = echo()
    found._budget = 10_000
    texts = [f"no such host {at}" for at in range(1000)]
    assert found.hidden(texts[0]) == texts[0]
    assert "***" in {found.hidden(each) for each in texts}
    assert found.hidden("x" * 199 + " " * module.MOST + "canary").endswith(" ***")


def test_work_on_what_is_hostile_is_bounded() -> None:
    code = (
        "from llm_normalize.text.echo import Echo\n"
        "for part in ('a', '\\\\', 'a\" ', '<&%', '****', '\\\\u0061'):\n"
        "    Echo(b'{\"a\":1}' + part.encode() * 100_000).hidden(part * 60_000)\n"
    )
    path = str(Path(__file__).parents[2] / "addon")
    child = [sys.executable, "-c", code]
    subprocess.run(
        child, check=True, timeout=60, env={**os.environ, "PYTHONPATH": path}
    )
