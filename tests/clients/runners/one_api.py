# mypy: ignore-errors
# Its neighbour `serve` is found only where it is started.
"""A relay that counts as it passes a stream on, in the manner of one-api.

Written from a description of its behaviour, for Python's standard library: it looks at
each line by itself, and decodes JSON into types as Go does. A null leaves a field at
its zero value; a wrong type fails the whole line.
"""

import http.client
import json
import urllib.parse
from typing import Any

import serve
from serve import Json, client

ANY = object()
USAGE = {"prompt_tokens": int, "completion_tokens": int, "total_tokens": int}
CALL = {"id": str, "type": str, "function": {"name": str, "arguments": str}}
MESSAGE = {"role": str, "content": str, "tool_calls": [CALL]}
CHUNK = {
    "id": str,
    "object": str,
    "created": int,
    "model": str,
    "choices": [{"index": int, "delta": MESSAGE, "finish_reason": str}],
    "usage": USAGE,
}
BODY = {
    **CHUNK,
    "choices": [{"index": int, "message": MESSAGE, "finish_reason": str}],
    "error": {"message": str, "type": str, "param": str, "code": ANY},
}
ERROR = {
    "error": {"message": str, "type": str, "param": str, "code": ANY},
    "message": str,
    "msg": str,
    "err": str,
    "error_msg": str,
}


def typed(value: Any, kind: Any, path: str = "") -> Any:
    """Return *value* as *kind*, with zero values for what is not there."""
    if kind is ANY:
        return value
    if isinstance(kind, dict):
        if value is not None and not isinstance(value, dict):
            raise TypeError(f"{path} is no object")
        given = value or {}
        return {
            name: typed(given.get(name), inner, f"{path}.{name}")
            for name, inner in kind.items()
        }
    if isinstance(kind, list):
        if value is not None and not isinstance(value, list):
            raise TypeError(f"{path} is no list")
        return [typed(each, kind[0], path + "[]") for each in value or []]
    if value is None:
        return kind()
    if type(value) is not kind:
        raise TypeError(f"{path} is no {kind.__name__}")
    return value


def note_line(line: str, report: Json) -> None:
    """Count one line of a stream."""
    outcome, events = report["outcome"], report["events"]
    if len(line) < 6 or line[:6] not in ("data: ", "[DONE]"):
        return
    if line[6:].startswith("[DONE]") or line.startswith("[DONE]"):
        events.append("[DONE]")
        return
    try:
        chunk = typed(json.loads(line[6:]), CHUNK)
    except (ValueError, TypeError):
        outcome["undecoded"] += 1  # passed on, not counted
        return
    counted = any(chunk["usage"].values())
    if counted:
        outcome["usage"] = chunk["usage"]
    for choice in chunk["choices"]:
        delta = choice["delta"]
        outcome["text"] += delta["content"]
        outcome["calls"] += [
            [call["id"], call["type"], call["function"]["name"]]
            for call in delta["tool_calls"]
            if call["id"]
        ]
        outcome["arguments"] += "".join(
            call["function"]["arguments"] for call in delta["tool_calls"]
        )
        outcome["finish"] = choice["finish_reason"] or outcome["finish"]
    if chunk["choices"] or counted:
        events.append([chunk["id"], chunk["created"], chunk["choices"]])


def note_error(status: int, body: bytes, outcome: Json) -> None:
    """Report a failure: its words, if they stand where they are looked for."""
    kind = "one_api_error"
    message = ""
    try:
        read = typed(json.loads(body), ERROR)
    except (ValueError, TypeError):
        pass
    else:
        message = read["error"]["message"]
        if message:
            kind = read["error"]["type"]
        for name in ("message", "msg", "err", "error_msg"):
            message = message or read[name]
    outcome["error"] = [kind, message or f"bad response status code {status}"]


@client("one-api")
def relay(url: str, request: Json, report: Json) -> None:
    """A line scanner into Go-like types."""
    outcome = report["outcome"]
    target = urllib.parse.urlsplit(url)
    assert target.hostname is not None
    connection = http.client.HTTPConnection(target.hostname, target.port, timeout=10)
    headers = {"content-type": "application/json"}
    path = f"{target.path}/chat/completions"
    connection.request("POST", path, json.dumps(request), headers)
    response = connection.getresponse()
    body = response.read()
    connection.close()
    if response.status != http.HTTPStatus.OK:
        note_error(response.status, body, outcome)
    elif request.get("stream"):
        outcome.update(text="", calls=[], arguments="", finish="", undecoded=0)
        for line in body.decode(errors="replace").split("\n"):
            note_line(line.removesuffix("\r"), report)
    else:
        read = typed(json.loads(body), BODY)
        report["events"].append(read)
        choice = read["choices"][0]
        outcome["role"] = choice["message"]["role"]
        outcome["text"] = choice["message"]["content"]
        outcome["calls"] = choice["message"]["tool_calls"]
        outcome["usage"] = read["usage"]


if __name__ == "__main__":
    serve.main()
