"""Calls that a model wrote as text: how each syntax begins, ends, and is read."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial

from ..state.declared_tools import Tools
from ..state.repeated_arguments import may_go_on
from . import harmony
from .call_readers import (
    ALL_BEGIN,
    ALL_END,
    BARS,
    BEGIN,
    END,
    FENCE,
    JSON_BEGINS,
    MARK,
    SECTIONS,
    Calls,
    read_arguments,
    read_bare,
    read_deepseek,
    read_dsml,
    read_gemma,
    read_json,
    read_kimi,
    read_longcat,
    read_m3,
    read_minimax,
    read_mistral,
    read_python,
    read_seed,
    read_tool_call,
)
from .written_values import M3

_IS_JSON = re.compile(r"\{|\[\s*(?:[{\[\"]|\Z)")
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


@dataclass(frozen=True)
class CallSyntax:
    """How a model writes calls.

    Attributes:
        ends: The markers that end a passage; the end of the text always does.
        read: Returns the calls of a passage.
        begins: What a passage starts with.
        is_named: Whether it may also start with a tool's name.
        last: What its last call may end with, unless that is JSON.
        is_single: Whether only the end follows an object in it.
        pattern: Matches its end, if that is not one of the markers alone.
    """

    ends: tuple[str, ...]
    read: Callable[[str, Tools], Calls]
    begins: tuple[str, ...]
    is_named: bool = False
    last: tuple[str, ...] = ()
    is_single: bool = False
    pattern: str = ""

    @cached_property
    def end(self) -> re.Pattern[str]:
        """Finds the end of a passage."""
        return re.compile(self.pattern or "|".join(map(re.escape, self.ends)))


CALL_SYNTAX = {
    "<tool_call>": CallSyntax(
        ("</tool_call>",),
        read_tool_call,
        (*JSON_BEGINS, "<function=", M3),
        is_named=True,
        last=("</function>", "</arg_value>", M3),
        is_single=True,
    ),
    "<function=": CallSyntax(
        (), read_bare, (), is_named=True, pattern="(?<=</function>)"
    ),
    "<tool_calls>": CallSyntax(("</tool_calls>",), read_json, JSON_BEGINS),
    "<minimax:tool_call>": CallSyntax(
        ("</minimax:tool_call>",),
        read_minimax,
        ("<invoke name=",),
        last=("</invoke>",),
    ),
    "<|tool_calls_section_begin|>": CallSyntax(
        ("<|tool_calls_section_end|>",),
        read_kimi,
        ("<|tool_call_begin|>",),
        last=("<|tool_call_end|>",),
    ),
    ALL_BEGIN: CallSyntax((ALL_END,), read_deepseek, (BEGIN,), last=(END,)),
    "<|python_tag|>": CallSyntax(("<|eom_id|>", "<|eot_id|>"), read_json, JSON_BEGINS),
    "[TOOL_CALLS]": CallSyntax(
        ("</s>",),
        read_mistral,
        JSON_BEGINS,
        is_named=True,
        pattern=r"(?=\[TOOL_CALLS\])|</s>",
    ),
    "<seed:tool_call>": CallSyntax(
        ("</seed:tool_call>",), read_seed, ("<function=",), last=("</function>",)
    ),
    "<TOOLCALL>": CallSyntax(("</TOOLCALL>",), read_json, JSON_BEGINS),
    "<|tool_call|>": CallSyntax(
        ("<|/tool_call|>", "<|end_of_text|>"), read_json, JSON_BEGINS
    ),
    "<longcat_tool_call>": CallSyntax(
        ("</longcat_tool_call>",),
        read_longcat,
        JSON_BEGINS,
        is_named=True,
        last=("</longcat_arg_value>",),
        is_single=True,
    ),
    "<|tool_call_start|>": CallSyntax(
        ("<|tool_call_end|>",),
        read_python,
        JSON_BEGINS,
        is_named=True,
        last=(")", "]"),
    ),
    f"{FENCE}tool_code": CallSyntax(
        (),
        read_python,
        ("print(", "default_api.", "["),
        is_named=True,
        last=(")", "]"),
        pattern=rf"{FENCE}(?![\w`])",
    ),
    "<start_function_call>": CallSyntax(
        ("<end_function_call>",), read_gemma, ("call:",), last=("}",)
    ),
    "<|tool_call>": CallSyntax(("<tool_call|>",), read_gemma, ("call:",), last=("}",)),
    f"{M3}<tool_call>": CallSyntax(
        (f"{M3}</tool_call>", "</tool_call>"),
        read_m3,
        (f"{M3}<invoke name=", "<invoke name="),
        last=("</invoke>",),
    ),
    **{
        f"<{bar}DSML{bar}{section}>": CallSyntax(
            tuple(f"</{bar}DSML{bar}{each}>" for each in SECTIONS),
            read_dsml,
            (f"<{bar}DSML{bar}invoke name=",),
            last=(f"</{bar}DSML{bar}invoke>",),
            pattern=rf"</{MARK}(?:{'|'.join(SECTIONS)})>",
        )
        for bar in BARS
        for section in SECTIONS
    },
}
"""How models write calls, by the opening of a passage; harmony is separate."""
ENDS = (*(end for each in CALL_SYNTAX.values() for end in each.ends), *harmony.ENDS)
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
        syntax.end,
        lambda text: syntax.read(text, tools),
        goes_on,
        syntax.is_single,
    )


def message_call(header: harmony.Header, tools: Tools) -> Passage | None:
    """Return the passage after the *header* of a message; None if it calls no tool."""
    if not header.recipient or tools.meant(header.recipient) not in tools.names:
        return None

    read = partial(read_arguments, header.recipient, tools=tools)
    return Passage(header.size, _HARMONY_ENDS, read, partial(_goes_on, ()), True)


def _goes_on(last: tuple[str, ...], text: str) -> bool:
    """Tell whether *text* may continue after an end marker that it only mentions."""
    bare = text.strip()
    if _IS_JSON.match(bare):
        return may_go_on(bare)
    return not bare.endswith(last)
