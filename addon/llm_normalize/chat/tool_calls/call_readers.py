"""The readers of calls that a model wrote as text, a function for each syntax.

Sources: the parsers of vLLM and SGLang, and the models' own guides
(https://docs.vllm.ai/en/latest/features/tool_calling.html); for Qwen's syntax without its
opening tag, https://github.com/ollama/ollama/issues/16686; for the bars of DSML,
https://github.com/sgl-project/sglang/issues/40236 and
https://github.com/lsdefine/GenericAgent/issues/804.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from ...wire.json_text import Json, after, dumps, loads
from ..chunks.chunk import Chunk, function
from ..state.declared_tools import Tools, kind_of
from .written_values import (
    M3,
    MalformedError,
    Quoted,
    Written,
    gemma_call,
    m3_calls,
    python_calls,
)

type Calls = list[Chunk] | None
"""Functions with name and arguments; None if a text has no calls."""

_LITERALS = {"True": True, "False": False, "None": None}
_NONE: Json = object()
_DECODER = json.JSONDecoder()
_BETWEEN = re.compile(r"[\s,;]*")
_BLANK = re.compile(r"\s*\Z")
FENCE = "```"
_TEXTS = frozenset({"string"})
_QUOTES = " \"'"
_HEAD = {"name", "arguments", "parameters", "id", "type"}
JSON_BEGINS = ("{", "[")


def _call(name: Json, arguments: Json, tools: Tools) -> Chunk | None:
    """Return the call if its tool is declared and its arguments are an object."""
    if isinstance(arguments, str):
        arguments = _value(arguments) if arguments.strip() else {}
    meant = tools.meant(name) if isinstance(name, str) else ""
    if meant not in tools.names or not isinstance(arguments, dict):
        return None
    return {"name": meant, "arguments": dumps(arguments).decode()}


def _all(found: list[Chunk | None]) -> Calls:
    """Return the calls, if there is any and none of them is missing."""
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
        while (at := after(_BETWEEN, text, at)) < len(text):
            _, end = _DECODER.raw_decode(text, at)
            found.append(_value(text[at:end]))
            at = end
    except (ValueError, RecursionError):
        return []
    return found


def read_json(text: str, tools: Tools) -> Calls:
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
_PAIRS, _LONGCAT = (
    _Blocks.of(rf"<{own}key>([^<]+)</{own}key>\s*<{own}value>", f"</{own}value>")
    for own in ("arg_", "longcat_arg_")
)
_KIMI = _Blocks.of(
    r"<\|tool_call_begin\|>\s*([^\s<]+)\s*<\|tool_call_argument_begin\|>",
    r"<\|tool_call_end\|>",
)
BEGIN, END, _SEP, ALL_BEGIN, ALL_END = (
    f"<\uff5ctool▁{word}\uff5c>"
    for word in ("call▁begin", "call▁end", "sep", "calls▁begin", "calls▁end")
)
BARS = ("\uff5c", "|", "\uff5c\uff5c", "||", "\u2016", " | ")
SECTIONS = ("tool_calls", "function_calls", "tool_use")
MARK = r"\s*[\uff5c|\u2016]+\s*DSML\s*[\uff5c|\u2016]+\s*"
_DSML_INVOKES = _Blocks.of(
    rf"""<{MARK}invoke name=["']?([^>"']+)["']?>""", rf"</{MARK}invoke>"
)
_DSML_NAMED = _Blocks.of(rf"""<{MARK}parameter name=([^>]+)>""", rf"</{MARK}parameter>")
_IS_TEXT = re.compile(r"""(?<!\s)\s++string=["']?(true|false)["']?\s*\Z""")
_DEEPSEEK = _Blocks.of(
    rf"{BEGIN}(?:function{_SEP})?([^\s<]+)(?:{_SEP}|\s*{FENCE}json)", END
)


def _typed(text: str, types: frozenset[str], *, as_sent: bool = False) -> Json:
    """Return the value that *text* writes, if it may be of one of the *types*.

    Line ends around it are the template's, unless it is *as_sent*.
    """
    text = text if as_sent else text.removeprefix("\n").removesuffix("\n")
    if types == _TEXTS:
        return text
    bare = text.strip()
    value = _LITERALS[bare] if bare in _LITERALS else _value(bare)
    if value is _NONE:
        return text
    kind = kind_of(value)
    fits = kind in types or (kind == "integer" and "number" in types)
    return value if fits or "string" not in types else text


def _parameters(name: str, text: str, blocks: _Blocks, tools: Tools) -> Chunk | None:
    """Return the call with the parameters in *text*, typed as the tool declares them.

    DSML says itself which of them are texts.
    """
    given, meant = blocks.parts(text), tools.meant(name)
    if given is None:
        return None
    fields: dict[str, Json] = {}
    for label, value in given:
        is_text = _IS_TEXT.search(label) if blocks is _DSML_NAMED else None
        key = _IS_TEXT.sub("", label).strip(_QUOTES) if blocks is _DSML_NAMED else label
        types = tools.types_of(meant, key.strip())
        if is_text is not None:
            types = _TEXTS if is_text[1] == "true" else types - _TEXTS
        fields[key.strip()] = _typed(value, types, as_sent=is_text is not None)
    return _call(name, fields, tools)


def _read_xml(outer: _Blocks, inner: _Blocks, text: str, tools: Tools) -> Calls:
    """Read names in tags, each with its parameters in tags."""
    found = outer.parts(text) or []
    return _all([_parameters(name, each, inner, tools) for name, each in found])


def read_bare(text: str, tools: Tools) -> Calls:
    """Read what Qwen's coders write without the `<tool_call>` that should precede it."""
    return _read_xml(_FUNCTIONS, _PARAMETERS, f"<function={text}", tools)


def _read_pairs(text: str, tools: Tools, blocks: _Blocks = _PAIRS) -> Calls:
    """Read a name and pairs of keys and values, GLM's syntax."""
    begun = blocks.opening.search(text)
    at = begun.start() if begun else len(text)
    return _all([_parameters(text[:at].strip(), text[at:], blocks, tools)])


def read_longcat(text: str, tools: Tools) -> Calls:
    """Read JSON, or a name and pairs under names of LongCat's own."""
    if text.lstrip()[:1] in JSON_BEGINS:
        return read_json(text, tools)
    return _read_pairs(text, tools, _LONGCAT)


def _read_written(read: Callable[[str], Written], text: str, tools: Tools) -> Calls:
    """Read calls in another notation than JSON, or JSON."""
    if text.lstrip()[:2].lstrip("[").startswith("{"):
        return read_json(text, tools)
    try:
        found = read(text)
    except (MalformedError, RecursionError):
        return None
    made: list[Chunk | None] = []
    for name, fields in found:
        meant = tools.meant(name)
        given = {
            key: _typed(each, types, as_sent=True)
            if isinstance(each, Quoted) and (types := tools.types_of(meant, key))
            else each
            for key, each in fields.items()
        }
        made.append(_call(name, given, tools))
    return _all(made)


def read_m3(text: str, tools: Tools) -> Calls:
    """Read MiniMax M3's tags, whose names are those of the arguments."""

    def typed(name: str, key: str, text: str) -> Json:
        return _typed(text, tools.types_of(tools.meant(name), key), as_sent=True)

    return _read_written(partial(m3_calls, typed=typed), text, tools)


def read_tool_call(text: str, tools: Tools) -> Calls:
    """Read what stands between `<tool_call>` tags, a syntax of several models."""
    bare = text.lstrip()
    if bare.startswith(M3):
        return read_m3(text, tools)
    if bare.startswith("<"):
        return _read_xml(_FUNCTIONS, _PARAMETERS, text, tools)
    return (
        read_json(text, tools) if bare[:1] in ("{", "[") else _read_pairs(bare, tools)
    )


def _read_blocks(blocks: _Blocks, text: str, tools: Tools) -> Calls:
    """Read names with arguments in JSON behind them."""
    found = blocks.parts(text) or []
    bare = [(name, each.strip().removesuffix(FENCE)) for name, each in found]
    return _all([_call(name, arguments, tools) for name, arguments in bare])


def read_mistral(text: str, tools: Tools) -> Calls:
    """Read an array of calls, or a name and its arguments."""
    if text.lstrip()[:1] in ("{", "["):
        return read_json(text, tools)
    name, brace, rest = text.partition("{")
    return _all([_call(name.partition("[")[0].strip(), brace + rest, tools)])


def read_arguments(name: str, text: str, tools: Tools) -> Calls:
    """Read the arguments of a call whose *name* stands elsewhere."""
    return _all([_call(name, text, tools)])


read_seed = partial(_read_xml, _FUNCTIONS, _PARAMETERS)
read_minimax = partial(_read_xml, _INVOKES, _NAMED)
read_dsml = partial(_read_xml, _DSML_INVOKES, _DSML_NAMED)
read_kimi = partial(_read_blocks, _KIMI)
read_deepseek = partial(_read_blocks, _DEEPSEEK)
read_python = partial(_read_written, python_calls)
read_gemma = partial(_read_written, gemma_call)
