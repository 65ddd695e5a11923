"""Calls that a model wrote as text: the syntaxes of several models, and their parsers.

Sources: the parsers of vLLM and SGLang, and the models' own guides
(https://docs.vllm.ai/en/latest/features/tool_calling.html); for Qwen's syntax without its
opening tag, https://github.com/ollama/ollama/issues/16686.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from ...wire.json_text import Json, dumps, loads
from ..chunks.chunk import Chunk, function
from . import harmony
from .declared_tools import Tools, kind_of
from .repeated_arguments import may_go_on

type Calls = list[Chunk] | None
"""Functions with name and arguments; None if a text has no calls."""

_LITERALS = {"True": True, "False": False, "None": None}
_NONE: Json = object()
_DECODER = json.JSONDecoder()
_BETWEEN = re.compile(r"[\s,;]*")
_BLANK = re.compile(r"\s*\Z")
_FENCE = "```"
_HEAD = {"name", "arguments", "parameters", "id", "type"}
_SHOWN = 64  # characters of a passage that show whether it may be a call


@dataclass(frozen=True, slots=True)
class Passage:
    """Text that may be a call, from its opening on.

    Attributes:
        start: The offset after its opening.
        ends: The markers that may end it.
        read: Returns its calls.
        goes_on: Tells whether a passage without calls may continue after an end marker.
        is_single: Whether only the end follows an object in it.
    """

    start: int
    ends: re.Pattern[str]
    read: Callable[[str], Calls]
    goes_on: Callable[[str], bool]
    is_single: bool = False


@dataclass(frozen=True, slots=True)
class CallSyntax:
    """How a model writes calls.

    Attributes:
        ends: The markers that end a passage; the end of the text always does.
        read: Returns the calls of a passage.
        begins: What a passage starts with.
        is_named: Whether it may also start with a tool's name.
        last: What its last call may end with, unless that is JSON.
        is_single: Whether only the end follows an object in it.
    """

    ends: re.Pattern[str]
    read: Callable[[str, Tools], Calls]
    begins: tuple[str, ...]
    is_named: bool = False
    last: tuple[str, ...] = ()
    is_single: bool = False


# -- the calls of a passage --------------------------------------------------------


def _call(name: Json, arguments: Json, tools: Tools) -> Chunk | None:
    """Return the call if its tool is declared and its arguments are an object."""
    if isinstance(arguments, str):
        arguments = _value(arguments) if arguments.strip() else {}
    meant = tools.meant(name) if isinstance(name, str) else ""
    if meant not in tools.names or not isinstance(arguments, dict):
        return None
    return {"name": meant, "arguments": dumps(arguments).decode()}


def _all(found: list[Chunk | None]) -> Calls:
    """Return the calls, if all of them are valid."""
    calls = [each for each in found if each is not None]
    return calls if calls and len(calls) == len(found) else None


def _value(text: str) -> Json:
    """Return the JSON value of *text*; `_NONE` if it is not JSON."""
    try:
        return loads(text.encode())
    except (ValueError, RecursionError):
        return _NONE


def _values(text: str) -> list[Json]:
    """Return the JSON values in *text*, those of an array one by one."""
    value, found, at = _value(text), list[Json](), 0
    if value is not _NONE:
        return value if isinstance(value, list) else [value]
    try:
        while (at := _after(_BETWEEN, text, at)) < len(text):
            _, end = _DECODER.raw_decode(text, at)
            found.append(_value(text[at:end]))
            at = end
    except (ValueError, RecursionError):
        return []
    return found


def _after(skipped: re.Pattern[str], text: str, at: int) -> int:
    found = skipped.match(text, at)
    return found.end() if found else at


def _read_json(text: str, tools: Tools) -> Calls:
    """Read objects with a name and arguments, alone, on lines, or in an array."""
    found: list[Chunk | None] = []
    for value in _values(text):
        fields = value if isinstance(value, dict) else {}
        fields = function(fields) or fields
        arguments = fields.get("arguments", fields.get("parameters"))
        is_bare = arguments is None and fields.keys() <= _HEAD
        given = {} if is_bare else arguments  # under another name they are not lost
        found.append(_call(fields.get("name"), given, tools))
    return _all(found)


@dataclass(frozen=True, slots=True)
class _Blocks:
    """Blocks that follow each other: an opening with a name, a text, and an end.

    An end counts where another block or nothing follows: a text may speak of it.
    """

    opening: re.Pattern[str]
    end: re.Pattern[str]

    @classmethod
    def of(cls, opening: str, end: str) -> "_Blocks":
        follows = rf"{end}\s*(?:(?={opening})|\Z)"
        return cls(re.compile(rf"\s*{opening}"), re.compile(follows))

    def parts(self, text: str) -> list[tuple[str, str]] | None:
        """Return names and texts; None if there is anything else."""
        found, at = [], 0
        while not _BLANK.match(text, at):
            begun = self.opening.match(text, at)
            ended = self.end.search(text, begun.end()) if begun else None
            if begun is None or ended is None:
                return None
            found.append((begun[1], text[begun.end() : ended.start()]))
            at = ended.end()
        return found


_FUNCTIONS = _Blocks.of(r"<function=([^>\s]+)>", "</function>")
_PARAMETERS = _Blocks.of(r"<parameter=([^>]+)>", "</parameter>")
_INVOKES = _Blocks.of(r"""<invoke name=["']?([^>"']+)["']?>""", "</invoke>")
_NAMED = _Blocks.of(r"""<parameter name=["']?([^>"']+)["']?>""", "</parameter>")
_PAIRS = _Blocks.of(r"<arg_key>([^<]+)</arg_key>\s*<arg_value>", "</arg_value>")
_KIMI = _Blocks.of(
    r"<\|tool_call_begin\|>\s*([^\s<]+)\s*<\|tool_call_argument_begin\|>",
    r"<\|tool_call_end\|>",
)
_BEGIN, _END, _SEP, _ALL_BEGIN, _ALL_END = (
    f"<\uff5ctool▁{word}\uff5c>"
    for word in ("call▁begin", "call▁end", "sep", "calls▁begin", "calls▁end")
)
_DEEPSEEK = _Blocks.of(
    rf"{_BEGIN}(?:function{_SEP})?([^\s<]+)(?:{_SEP}|\s*{_FENCE}json)", _END
)


def _typed(text: str, types: frozenset[str]) -> Json:
    """Return the value that *text* writes, if it may be of one of the *types*."""
    text = text.removeprefix("\n").removesuffix("\n")
    if types == {"string"}:
        return text
    bare = text.strip()
    value = _LITERALS[bare] if bare in _LITERALS else _value(bare)
    if value is _NONE:
        return text
    kind = kind_of(value)
    fits = kind in types or (kind == "integer" and "number" in types)
    return value if fits or "string" not in types else text


def _parameters(name: str, text: str, blocks: _Blocks, tools: Tools) -> Chunk | None:
    """Return the call with the parameters in *text*, typed as the tool declares them."""
    given, meant = blocks.parts(text), tools.meant(name)
    if given is None:
        return None
    fields = {
        key.strip(): _typed(value, tools.types_of(meant, key.strip()))
        for key, value in given
    }
    return _call(name, fields, tools)


def _read_xml(outer: _Blocks, inner: _Blocks, text: str, tools: Tools) -> Calls:
    found = outer.parts(text) or []
    return _all([_parameters(name, each, inner, tools) for name, each in found])


def _read_bare(text: str, tools: Tools) -> Calls:
    """Read what Qwen's coders write without the `<tool_call>` that should precede it."""
    return _read_xml(_FUNCTIONS, _PARAMETERS, f"<function={text}", tools)


def _read_pairs(text: str, tools: Tools) -> Calls:
    """Read a name and pairs of keys and values, GLM's syntax."""
    name, tag, more = text.partition("<arg_key>")
    return _all([_parameters(name.strip(), tag + more, _PAIRS, tools)])


def _read_tool_call(text: str, tools: Tools) -> Calls:
    """Read what stands between `<tool_call>` tags, a syntax of several models."""
    bare = text.lstrip()
    if bare.startswith("<"):
        return _read_xml(_FUNCTIONS, _PARAMETERS, text, tools)
    return (
        _read_json(text, tools) if bare[:1] in ("{", "[") else _read_pairs(bare, tools)
    )


def _read_blocks(blocks: _Blocks, text: str, tools: Tools) -> Calls:
    """Read names with arguments in JSON behind them."""
    found = blocks.parts(text) or []
    bare = [(name, each.strip().removesuffix(_FENCE)) for name, each in found]
    return _all([_call(name, arguments, tools) for name, arguments in bare])


def _read_mistral(text: str, tools: Tools) -> Calls:
    """Read an array of calls, or a name and its arguments."""
    if text.lstrip()[:1] in ("{", "["):
        return _read_json(text, tools)
    name, brace, rest = text.partition("{")
    return _all([_call(name.partition("[")[0].strip(), brace + rest, tools)])


_JSON = ("{", "[")
CALL_SYNTAX = {
    "<tool_call>": CallSyntax(
        re.compile("</tool_call>"),
        _read_tool_call,
        (*_JSON, "<function="),
        is_named=True,
        last=("</function>", "</arg_value>"),
        is_single=True,
    ),
    "<function=": CallSyntax(
        re.compile("(?<=</function>)"), _read_bare, (), is_named=True
    ),
    "<tool_calls>": CallSyntax(re.compile("</tool_calls>"), _read_json, _JSON),
    "<minimax:tool_call>": CallSyntax(
        re.compile("</minimax:tool_call>"),
        partial(_read_xml, _INVOKES, _NAMED),
        ("<invoke name=",),
        last=("</invoke>",),
    ),
    "<|tool_calls_section_begin|>": CallSyntax(
        re.compile(r"<\|tool_calls_section_end\|>"),
        partial(_read_blocks, _KIMI),
        ("<|tool_call_begin|>",),
        last=("<|tool_call_end|>",),
    ),
    _ALL_BEGIN: CallSyntax(
        re.compile(_ALL_END), partial(_read_blocks, _DEEPSEEK), (_BEGIN,), last=(_END,)
    ),
    "<|python_tag|>": CallSyntax(re.compile(r"<\|eo[mt]_id\|>"), _read_json, _JSON),
    "[TOOL_CALLS]": CallSyntax(
        re.compile(r"(?=\[TOOL_CALLS\])|</s>"), _read_mistral, _JSON, is_named=True
    ),
}
"""How models write calls, by the opening of a passage; harmony is separate."""
ENDS = (
    "</tool_call>",
    "</tool_calls>",
    "</minimax:tool_call>",
    "<|tool_calls_section_end|>",
    _ALL_END,
    "<|eom_id|>",
    "<|eot_id|>",
    "</s>",
    *harmony.ENDS,
)
"""Markers that may follow a call that was complete without one: after a pause, say."""
_HARMONY_ENDS = re.compile(r"<\|(?:end|return|call)\|>|(?=<\|(?:start|channel)\|>)")


def passage_at(text: str, opening: str, tools: Tools) -> Passage | None:
    """Return the passage that *text* starts with; None if it cannot be a call."""
    syntax = CALL_SYNTAX[opening]
    shown = text[len(opening) : len(opening) + _SHOWN].lstrip()
    begins = syntax.begins + (tuple(tools.names) if syntax.is_named else ())
    if not shown.startswith(begins) and not any(
        each.startswith(shown) for each in begins
    ):
        return None
    goes_on = partial(_goes_on, syntax.last)
    return Passage(
        len(opening),
        syntax.ends,
        lambda text: syntax.read(text, tools),
        goes_on,
        syntax.is_single,
    )


def message_call(header: harmony.Header, tools: Tools) -> Passage | None:
    """Return the passage after the *header* of a message; None if it calls no tool."""
    if not header.recipient or tools.meant(header.recipient) not in tools.names:
        return None

    def read(text: str) -> Calls:
        return _all([_call(header.recipient, text, tools)])

    return Passage(header.size, _HARMONY_ENDS, read, partial(_goes_on, ()), True)


def _goes_on(last: tuple[str, ...], text: str) -> bool:
    """Tell whether *text* may continue after an end marker that it only mentions."""
    bare = text.strip()
    if bare[:1] in _JSON:
        return may_go_on(bare)
    return not bare.endswith(last)
