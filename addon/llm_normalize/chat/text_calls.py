"""Calls that a model wrote as text, in the forms of Hermes and Qwen."""

import json
import re

from ..wire.json_text import dumps
from .chunk import Chunk
from .declared_tools import Tools

_FUNCTION = re.compile(r"\s*<function=([^>\s]+)>(.*)</function>\s*", re.DOTALL)
_PARAMETER = re.compile(r"\s*<parameter=([^>\s]+)>\n?(.*?)\n?</parameter>", re.DOTALL)


def function_in(text: str, tools: Tools) -> Chunk | None:
    """Return the function that *text*, without its tags, calls, if it is one of *tools*."""
    xml = _FUNCTION.fullmatch(text)
    try:
        value = json.loads(text) if xml is None else _read_xml(xml[1], xml[2])
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    name, arguments = value.get("name"), value.get("arguments", value.get("parameters"))
    is_declared = isinstance(name, str) and name in tools.names
    if not is_declared or not isinstance(arguments, dict | None):
        return None
    return {"name": name, "arguments": dumps(arguments or {}).decode()}


def _read_xml(name: str, text: str) -> Chunk:
    """Return the call of Qwen's XML: a parameter that is JSON is read as such."""
    found = {}
    for parameter in _PARAMETER.finditer(text):
        try:
            found[parameter[1]] = json.loads(parameter[2])
        except (ValueError, RecursionError):
            found[parameter[1]] = parameter[2]
    return {"name": name, "arguments": found}
