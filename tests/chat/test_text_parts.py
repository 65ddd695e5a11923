"""The optional repairs: calls and thoughts as text."""

import itertools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.strict import taken
from llm_normalize import conformance
from llm_normalize.chat.chunks.chunk import Chunk
from llm_normalize.chat.state.asked import Asked
from llm_normalize.chat.state.declared_tools import Tools
from llm_normalize.chat.state.stream_state import Seen
from llm_normalize.chat.tool_calls import text_parts
from llm_normalize.chat.tool_calls.text_parts import Part, Place, Wanted, read
from llm_normalize.fixes import EVERY_FIX, FIXES
from llm_normalize.fixes.written_text import ThinkAsText, ToolCallAsText
from llm_normalize.repair.engine.body import repair_body
from llm_normalize.repair.engine.pipeline import Pipeline
from llm_normalize.repair.fix import DONE, Fix, calling, chunk, completion, head, wire
from llm_normalize.wire.json_text import dumps
from streams import ANY, feed, repaired

PROPERTIES: Chunk = {
    "a": {"type": "integer"},
    "c": {"type": "string"},
    "d": {"anyOf": [{"type": "boolean"}, {"type": "null"}]},
    "e": {"type": ["string", "number"]},
    "h": {"enum": ["x", 1]},
    "o": {"type": "object"},
}
SCHEMA = {"type": "object", "properties": PROPERTIES}
TOOLS = Tools.of(
    {
        "tools": [
            {"type": "function", "function": {"name": "f", "parameters": SCHEMA}},
            {"type": "function", "function": {"name": "g"}},
        ]
    }
)
ASKED = Asked(stream=True, tools=True, declared=TOOLS)
ROLE = chunk({"role": "assistant", "content": ""})
STOP = chunk({}, finish="stop")
CALLS_ALONE = [fix for fix in EVERY_FIX if fix is not ThinkAsText]
F = '<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>'
TO = "<|start|>assistant<|channel|>commentary to=functions.f <|constrain|>json<|message|>"
ANALYSIS = "<|channel|>analysis<|message|>so<|end|>"
FINAL = "<|start|>assistant<|channel|>final<|message|>"
ONE = [("f", '{"a":1}')]
BOTH = [*ONE, ("g", "{}")]


def answer(text: str, size: int, *, finish: bool = True) -> bytes:
    cut = [text[at : at + size] for at in range(0, len(text), size)]
    events = [ROLE, *(chunk({"content": part}) for part in cut)]
    return wire([*events, *([STOP] if finish else []), DONE])


def said(
    text: str,
    size: int,
    asked: Asked = ASKED,
    fixes: list[type[Fix]] | tuple[type[Fix], ...] = EVERY_FIX,
    *,
    finish: bool = True,
) -> tuple[str, str, list[tuple[str, str]], str]:
    """Return text, reasoning, calls and finish reason as a client takes them."""
    data = answer(text, size, finish=finish)
    out = b"".join(feed([data], asked, fixes))
    assert conformance.check_stream(out, conformance.Request(stream=True)) == []
    assert b"".join(feed([out], asked, fixes)) == out
    choice = taken(out).choices[0]
    calls = [(call.name, call.arguments) for call in choice.calls]
    return choice.text, choice.reasoning, calls, str(choice.finish_reason)


def in_body(
    text: str, fixes: list[type[Fix]] | tuple[type[Fix], ...] = EVERY_FIX
) -> tuple[str, str, list[tuple[str, str]], str]:
    data = dumps(completion({"role": "assistant", "content": text}))
    out = repair_body(data, 200, ASKED, fixes).after[0]
    assert conformance.check_body(out, conformance.Request()) == []
    (choice,) = json.loads(out)["choices"]
    message = choice["message"]
    functions = [each["function"] for each in message.get("tool_calls", ())]
    calls = [(each["name"], each["arguments"]) for each in functions]
    thought = message.get("reasoning_content", "")
    return message["content"] or "", thought, calls, choice["finish_reason"]


def deepseek(word: str) -> str:
    return f"<\uff5ctool▁{word}\uff5c>"


def dsml(bar: str, section: str = "tool_calls", *, ended: bool = True) -> str:
    mark = f"{bar}DSML{bar}"
    end = f"\n</{mark}{section}>" if ended else ""
    return (
        f'<{mark}{section}>\n<{mark}invoke name="f">\n'
        f'<{mark}parameter name="a" string="false">1</{mark}parameter>\n'
        f'</{mark}invoke>\n<{mark}invoke name="g">\n</{mark}invoke>{end}'
    )


M3 = "]<]minimax[>["
NESTED = [("f", '{"o":{"k":[1,"x"],"m":{"n":"</o>"}},"c":"7"}')]
SPECIAL = [("f", '{"a":1,"c":"x, \'y\' {z}","d":true,"o":{"k":[1,null]}}')]
JSON, OTHER_JSON = '{"name":"f","arguments":{"a":1}}', '{"name":"g","arguments":{}}'
INVOKED = '<invoke name="f">\n<parameter name="a">1</parameter>\n</invoke>'
TO_G = TO.replace(".f", ".g")


def within(tag: str, text: str) -> str:
    return f"<{tag}>{text}</{tag}>"


def hermes(text: str) -> str:
    return within("tool_call", text)


def qwen(name: str, **fields: object) -> str:
    said = "".join(f"<parameter={k}>{v}</parameter>" for k, v in fields.items())
    return f"<function={name}>{said}</function>"


def dsml_call(*fields: tuple[str, str]) -> str:
    """Return a call of f; each field is what stands in its tag, and its value."""
    said = "".join(
        f"<|DSML|parameter {name}>{value}</|DSML|parameter>" for name, value in fields
    )
    return (
        f'<|DSML|tool_calls><|DSML|invoke name="f">{said}</|DSML|invoke>'
        "</|DSML|tool_calls>"
    )


def m3(text: str, *, ended: bool = True) -> str:
    """Return calls of MiniMax M3: each tag has its token before it, and `<<` is none."""
    tags = f"<tool_call>\n{text}" + ("\n</tool_call>" if ended else "")
    return tags.replace("<", M3 + "<").replace(f"{M3}<{M3}<", "<")


def m3_f(text: str) -> str:
    return f'<invoke name="f">{text}</invoke>'


def lfm2(text: str) -> str:
    return f"<|tool_call_start|>[{text}]<|tool_call_end|>"


def gemma(text: str) -> str:
    return f"<start_function_call>call:{text}<end_function_call>"


def deepseek_calls(*calls: str, ended: bool = True) -> str:
    begin, end = deepseek("call▁begin"), deepseek("call▁end")
    said = "".join(begin + call + end for call in calls)
    return deepseek("calls▁begin") + said + (deepseek("calls▁end") if ended else "")


def kimi(*calls: str) -> str:
    said = "".join(
        f"<|tool_call_begin|>{call}<|tool_call_end|>".replace(
            " ", "<|tool_call_argument_begin|>"
        )
        for call in calls
    )
    return f"<|tool_calls_section_begin|>{said}<|tool_calls_section_end|>"


ITEMS = "<o><k><item>1</item><item>x</item></k><m><n><</o></n></m></o>"
PAIR = "<longcat_arg_key>a</longcat_arg_key>\n<longcat_arg_value>1</longcat_arg_value>"
GEMMA_4 = (
    "<|tool_call>call:f{a:1,c:<|\"|>x, 'y' {z}<|\"|>,d:true,"
    'o:{<|"|>k<|"|>:[1,null]}}<tool_call|>'
)
HEADS = [
    (
        "the tool beside the role",
        "<|start|>assistant to=functions.f<|channel|>commentary json<|message|>",
        "<|call|>",
    ),
    (
        "from the role on",
        " to=functions.f<|channel|>commentary <|constrain|>json<|message|>",
        "",
    ),
    (
        "from the channel on",
        "<|channel|>commentary to=functions.f<|message|>",
        "<|end|>",
    ),
    ("from its name on", "commentary to=functions.f json<|message|>", "<|return|>"),
    (
        "in the analysis",
        "<|channel|>analysis to=functions.f code<|message|>",
        "<|call|>",
    ),
    ("without a namespace", "<|channel|>commentary to=f<|message|>", "<|call|>"),
    (
        "without the mark of a message",
        "<|channel|>commentary to=functions.f <|constrain|>json",
        "<|call|>",
    ),
    ("without any marks", "commentary to=functions.f json", ""),
    ("without blanks, too", "commentary to=functions.fjson", ""),
]
GEMMA = "f{a:<escape>1<escape>,c:<escape>x, 'y' {z}<escape>,d:true,o:{k:[1,null]}}"
SPOKEN_OF = "</parameter> or </invoke> or </minimax:tool_call>"
LLAMA = '<|python_tag|>{"name":"f","parameters":{"a":1}}; {"name":"g"}<|eom_id|>'
CALLS: dict[str, tuple[str, list[tuple[str, str]]]] = {
    "DSML": (dsml("\uff5c"), BOTH),
    "DSML, in ASCII": (dsml("|", "function_calls"), BOTH),
    "DSML, two bars": (dsml("\uff5c\uff5c"), BOTH),
    "DSML, two bars in ASCII": (dsml("||"), BOTH),
    "DSML, other bars": (dsml("\u2016"), BOTH),
    "DSML, with blanks": (dsml(" | ", "tool_use"), BOTH),
    "DSML, no end": (dsml("\uff5c", ended=False), BOTH),
    "DSML, texts and values": (
        dsml_call(
            ('name="a" string="true"', "1"),
            ('name="o" string="false"', '{"k":[1]}'),
            ('name="c"', "\n7\n"),
        ),
        [("f", '{"a":"1","o":{"k":[1]},"c":"7"}')],
    ),
    "DSML, of its own marks": (
        dsml_call(('name="c" string="true"', "</|DSML|tool_calls>")),
        [("f", '{"c":"</|DSML|tool_calls>"}')],
    ),
    "MiniMax M3": (m3(m3_f("<a>1</a>") + '\n<invoke name="g">\n</invoke>'), BOTH),
    "MiniMax M3, tags in tags": (
        m3(m3_f(f"\n{ITEMS}\n<c>7</c>\n")),
        NESTED,
    ),
    "MiniMax M3, a tag again": (m3(m3_f("<o>1</o><o>x</o>")), [("f", '{"o":[1,"x"]}')]),
    "MiniMax M3, without some of its tokens": (
        m3(m3_f("<a>1<</a>")).removeprefix(M3),
        ONE,
    ),
    "MiniMax M3, no end": (m3(m3_f("<a>1</a>"), ended=False), ONE),
    "Seed": (
        within("seed:tool_call", f"\n{qwen('f', a=1)}\n")
        + within("seed:tool_call", qwen("g")),
        BOTH,
    ),
    "Nemotron": (within("TOOLCALL", f"[{JSON}, {OTHER_JSON}]"), BOTH),
    "Granite": (f"<|tool_call|>[{JSON}]", ONE),
    "Phi": (f"<|tool_call|>[{JSON}]<|/tool_call|>", ONE),
    "LongCat": (within("longcat_tool_call", f"\n{JSON}\n"), ONE),
    "LongCat, pairs": (
        within("longcat_tool_call", f"f\n{PAIR}\n")
        + within("longcat_tool_call", "g\n"),
        BOTH,
    ),
    "LFM2": (lfm2("f(a=1), g()"), BOTH),
    "LFM2, values": (
        lfm2("f(a=1, c=\"x, 'y' {z}\", d=True, o={'k': [1, None]})"),
        SPECIAL,
    ),
    "LFM2, JSON": (lfm2(JSON), ONE),
    "LFM2, of its own marks": (
        lfm2('f(c="<|tool_call_end|>")'),
        [("f", '{"c":"<|tool_call_end|>"}')],
    ),
    "Gemma 3": ("```tool_code\nf(a=1)\n```", ONE),
    "Gemma 3, printed": (
        "```tool_code\nprint(default_api.f(a=1))\nprint(g())\n```",
        BOTH,
    ),
    "FunctionGemma": (gemma("f{a:1}") + gemma("g{}"), BOTH),
    "FunctionGemma, values": (
        gemma(GEMMA),
        SPECIAL,
    ),
    "Gemma 4": (GEMMA_4, SPECIAL),
    "harmony": (TO + '{"a": 1}<|call|>', ONE),
    "harmony, whose stop token is no text": (TO + '{"a": 1}', ONE),
    "harmony, two": (TO + '{"a":1}<|call|>' + TO_G + "{}<|call|>", BOTH),
    "harmony, two without an end": (TO + '{"a":1}' + TO_G + "{}", BOTH),
    "harmony, no arguments": (TO_G + "<|call|>", BOTH[1:]),
    "harmony, of its own marks": (
        TO + '{"c":"<|call|> <|end|>"}<|call|>',
        [("f", '{"c":"<|call|> <|end|>"}')],
    ),
    **{f"harmony, {name}": (head + '{"a":1}' + end, ONE) for name, head, end in HEADS},
    "MiniMax": (within("minimax:tool_call", f"\n{INVOKED}\n"), ONE),
    "MiniMax, two, and no end": (
        "<minimax:tool_call>" + INVOKED.replace('"', "'") + "<invoke name=g></invoke>",
        BOTH,
    ),
    "MiniMax, of its own marks": (
        within(
            "minimax:tool_call",
            f'<invoke name="f"><parameter name="c">\n{SPOKEN_OF}\n</parameter></invoke>',
        ),
        [("f", f'{{"c":"{SPOKEN_OF}"}}')],
    ),
    "MiniMax M1": (within("tool_calls", f"\n{JSON}\n{OTHER_JSON}\n"), BOTH),
    "MiniMax M1, no end": (f"<tool_calls>{JSON}", ONE),
    "Hermes, two": (F + "\n\n" + hermes('{"name":"g"}') + "\n", BOTH),
    "Hermes, then Qwen": (
        F + hermes("<function=g>\n<parameter=b>\n2\n</parameter>\n</function>"),
        [*ONE, ("g", '{"b":2}')],
    ),
    "Hermes, an array": (hermes(f'[{JSON},{{"name":"g","parameters":null}}]'), BOTH),
    "Hermes, arguments encoded": (
        hermes('{"name":"f","arguments":"{\\"a\\":1}"}'),
        ONE,
    ),
    "Hermes, as in the API": (hermes(f'{{"type":"function","function":{JSON}}}'), ONE),
    "Hermes, of its own marks": (
        hermes('{"name":"f","arguments":{"c":"</tool_call>"}}'),
        [("f", '{"c":"</tool_call>"}')],
    ),
    "Qwen, of its own marks": (
        hermes(qwen("f", c="</tool_call>")),
        [("f", '{"c":"</tool_call>"}')],
    ),
    "Qwen, without the opening": (qwen("f", a="\n1\n") + "\n</tool_call>", ONE),
    "Qwen, without the tags, two": (qwen("f", a=1) + "\n" + qwen("g"), BOTH),
    "Qwen, without the tags, of its own marks": (
        qwen("f", c="</function>"),
        [("f", '{"c":"</function>"}')],
    ),
    "GLM": (
        hermes("f\n<arg_key>a</arg_key>\n<arg_value>1</arg_value>\n")
        + "\n"
        + hermes("g\n"),
        BOTH,
    ),
    "Mistral": (f"[TOOL_CALLS][{JSON}]", ONE),
    "Mistral, by name": ('[TOOL_CALLS]f[ARGS]{"a":1}[TOOL_CALLS]g{}</s>', BOTH),
    "Llama": (LLAMA, BOTH),
    "DeepSeek V3": (
        deepseek_calls(f'function{deepseek("sep")}f\n```json\n{{"a":1}}\n```'),
        ONE,
    ),
    "DeepSeek V3.1": (
        deepseek_calls(*(deepseek("sep").join(call) for call in BOTH), ended=False),
        BOTH,
    ),
    "Kimi": (kimi('functions.f:0 {"a":1}', "functions.g:1 {}"), BOTH),
}


@pytest.mark.parametrize("before", ["", "Let me see.\n"])
@pytest.mark.parametrize("name", CALLS)
def test_each_form_is_a_call_wherever_it_is_cut(name: str, before: str) -> None:
    text, calls = CALLS[name]
    if before and not text.startswith(("<", "[", "]", "`")):
        before = ""  # it begins a text alone
    for size in (4,) if before else (1, 1000):
        assert said(before + text, size) == (before, "", calls, "tool_calls")
    assert said(before + text, 3, finish=False)[2:] == (calls, "tool_calls")
    assert in_body(before + text) == (before, "", calls, "tool_calls")


@pytest.mark.parametrize("name", CALLS)
def test_no_form_is_a_call_without_its_tool_or_the_option(name: str) -> None:
    text, _ = CALLS[name]
    other = Asked(stream=True, tools=True, declared=Tools(frozenset({"other"})))
    for asked, fixes in ((other, EVERY_FIX), (Asked(stream=True), EVERY_FIX)):
        assert said(text, 3, asked, fixes)[:3] == (text, "", [])
    assert said(text, 3, ASKED, FIXES)[:3] == (text, "", [])


def reasoned(*events: Chunk) -> tuple[str, str, list[tuple[str, str]], str]:
    """Return what a client takes of these events, as `said` does."""
    data = wire([ROLE, *events, STOP, DONE])
    out = b"".join(feed([data], ASKED, EVERY_FIX))
    assert conformance.check_stream(out, conformance.Request(stream=True)) == []
    choice = taken(out).choices[0]
    calls = [(call.name, call.arguments) for call in choice.calls]
    return choice.text, choice.reasoning, calls, str(choice.finish_reason)


def thought(text: str, size: int, *keys: str) -> list[Chunk]:
    cut = [text[at : at + size] for at in range(0, len(text), size)]
    return [chunk(dict.fromkeys(keys or ("reasoning_content",), part)) for part in cut]


@pytest.mark.parametrize("name", CALLS)
def test_each_form_is_a_call_at_the_end_of_reasoning(name: str) -> None:
    text, calls = CALLS[name]
    before = "I need it. " if text.startswith(("<", "[", "]")) else ""
    expected = ("", before, calls, "tool_calls")
    for size, key in ((1, "reasoning_content"), (7, "reasoning"), (1000, "reasoning")):
        assert reasoned(*thought(before + text, size, key)) == expected
    message = {"role": "assistant", "content": "", "reasoning": before + text}
    data = dumps(completion(message))
    (choice,) = json.loads(repair_body(data, 200, ASKED, EVERY_FIX).after[0])["choices"]
    made = [each["function"] for each in choice["message"]["tool_calls"]]
    assert [(each["name"], each["arguments"]) for each in made] == calls
    assert choice["message"].get("reasoning_content", "") == before
    assert choice["finish_reason"] == "tool_calls"


@pytest.mark.parametrize(
    ("behind", "text", "calls"),
    [
        (thought(" or so", 9), "", []),
        ([chunk({"content": "Hi"})], "Hi", []),
        ([calling(head(0, '{"a":1}'))], "", ONE),
        ([chunk({"content": F})], "", ONE),
        ([chunk({"content": F[:-12]})], "", ONE),
    ],
)
def test_call_in_reasoning_that_goes_on_is_reasoning(
    behind: list[Chunk], text: str, calls: list[tuple[str, str]]
) -> None:
    more = " or so" if "reasoning_content" in str(behind) else ""
    found = reasoned(*thought("Hm. " + F, 9), *behind)
    assert found[:3] == (text, "Hm. " + F + more, calls)
    message = {"role": "assistant", "content": text, "reasoning_content": F + more}
    if text or more:
        data = dumps(completion(message))
        assert repair_body(data, 200, ASKED, EVERY_FIX).after[0] == data


def test_call_in_reasoning_counts_once_whatever_its_keys() -> None:
    keys = ("reasoning_content", "reasoning")
    expected = ("", "Hm. ", ONE, "tool_calls")
    assert reasoned(*thought("Hm. " + F, 9, *keys)) == expected
    data = dumps(completion({"content": None, **dict.fromkeys(keys, "Hm. " + F)}))
    (choice,) = json.loads(repair_body(data, 200, ASKED, EVERY_FIX).after[0])["choices"]
    assert len(choice["message"]["tool_calls"]) == 1
    assert F not in json.dumps(choice)


def places(fix: ToolCallAsText) -> list[dict[int, Place]]:
    return [dict(each._at) for each in fix._texts._texts.values()]


def test_call_in_reasoning_is_undone_with_its_event() -> None:
    seen = Seen()
    fix = ToolCallAsText(ASKED, seen)
    fix.edit(chunk({"reasoning_content": F[:-1]}))
    before = places(fix)
    seen.n = 1
    fix.edit(chunk({"reasoning_content": F[-1:]}))
    assert places(fix) != before
    fix.undo(1)
    assert places(fix) == before


@pytest.mark.parametrize(
    ("opening", "closing"),
    [
        ("<thinking>", "</thinking>"),
        ("<thought>", "</thought>"),
        ("<seed:think>", "</seed:think>"),
        ("<mm:think>", "</mm:think>"),
        ("[THINK]", "[/THINK]"),
        ("\u25c1think\u25b7", "\u25c1/think\u25b7"),
    ],
)
def test_each_mark_of_thoughts_is_one(opening: str, closing: str) -> None:
    text = f"{opening}so </think {closing}Hi"
    for size in (1, 4, 1000):
        assert said(text, size) == ("Hi", "so </think ", [], "stop")
        assert said("Hi " + text, size) == ("Hi " + text, "", [], "stop")
    assert in_body(text) == ("Hi", "so </think ", [], "stop")
    assert in_body(opening + "so")[0] == opening + "so"


VALUES: list[tuple[str, str, Any]] = [
    ("a", "7", 7),
    ("a", "seven", "seven"),
    ("c", "7", "7"),
    ("c", "null", "null"),
    ("c", "\n  x\n\n", "  x\n"),
    ("d", "True", True),
    ("d", "None", None),
    ("d", "7", 7),
    ("e", "7", 7),
    ("e", "7.50", 7.5),
    ("e", "true", "true"),
    ("h", "1", 1),
    ("h", "[1]", "[1]"),
    ("o", '{"k": [1]}', {"k": [1]}),
    ("more", "[1]", [1]),
    ("more", "plain", "plain"),
]


@pytest.mark.parametrize(("key", "text", "value"), VALUES)
def test_values_have_the_declared_type(key: str, text: str, value: Any) -> None:
    qwen = f"<tool_call><function=f><parameter={key}>{text}</parameter></function></tool_call>"
    minimax = (
        f'<minimax:tool_call><invoke name="f"><parameter name="{key}">{text}'
        "</parameter></invoke></minimax:tool_call>"
    )
    for form in (qwen, minimax):
        ((name, arguments),) = said(form, 1000)[2]
        assert (name, json.loads(arguments)) == ("f", {key: value})


PROSE = [
    "Write <\uff5cDSML\uff5ctool_calls> first, or ]<]minimax[>[<tool_call> and so on.",
    dsml("|").replace('"g"', '"h"'),
    ']<]minimax[>[<tool_call>]<]minimax[>[<invoke name="f">]<]minimax[>[<a>1</b>',
    ']<]minimax[>[<tool_call>]<]minimax[>[<invoke name="f"> or',
    "<|tool_call_start|>[f(1)]<|tool_call_end|>",
    "<|tool_call_start|>[f(a=b)]<|tool_call_end|>",
    "<|tool_call_start|>[f(a=1]<|tool_call_end|>",
    "<|tool_call_start|>[h(a=1)]<|tool_call_end|>",
    "<|tool_call_start|>[f(a=" + "[" * 99 + "]<|tool_call_end|>",
    "<start_function_call>call:f{a:<escape>1}<end_function_call>",
    "<start_function_call>call:f{a}<end_function_call>",
    "<|tool_call>call:f{a:1} is<tool_call|>",
    "In ```tool_code\nf(a=1)\n``` it is quoted",
    "```python\nf(a=1)\n```",
    "```tool_code\nx = f(a=1)\n```",
    "<TOOLCALL>[f]</TOOLCALL>",
    "<|tool_call|>[1]",
    "<longcat_tool_call>f or g</longcat_tool_call>",
    "<seed:tool_call><function=h></function></seed:tool_call>",
    "The tag <tool_call> begins it.",
    "<tool_call>{}</tool_call>",
    "<tool_call>no JSON</tool_call> and on",
    '<tool_call>{"name": "h", "arguments": {}}</tool_call>',
    '<tool_call>{"name": "f", "arguments": "x"}</tool_call>',
    "<tool_call>[1]</tool_call>",
    '<tool_call>{"name": "f", "input": {"a": 1}}</tool_call>',
    "<tool_call>[1] [</tool_call>",
    '<tool_call>{"name": "f", "argu',
    '<tool_call>{"name": "f", "arguments": {"a": "\ud800"}}</tool_call>'.encode(
        "utf-16", "surrogatepass"
    ).decode("utf-16", "replace")[:12],
    "<tool_call><function=f><parameter=a>1</function></tool_call>",
    "<function=h><parameter=a>1</parameter></function>",
    "<function=f><parameter=a>1</parameter>",
    "<function=f> is how, <function> too",
    "<tool_call>f and <arg_key>a</arg_key></tool_call>",
    "a < b <tool",
    "Say <think> aloud</think>",
    "<thinner>",
    "  ",
    '<minimax:tool_call><invoke name="h"></invoke></minimax:tool_call>',
    '<minimax:tool_call><invoke name="f"></invoke> so</minimax:tool_call>',
    (
        '<minimax:tool_call><invoke name="f"></invoke><invoke name="h"></invoke>'
        "</minimax:tool_call>"
    ),
    "<minimax:tool_call> opens it, <tool_calls> did",
    '<tool_calls>{"name":"f","arguments":{}} {</tool_calls>',
    "In <|channel|> or <|start|>assistant is a channel, <|call|> ends it",
    "In `<|channel|>final<|message|>Hi<|return|>` it says Hi.",
    "<|start|>user<|message|>x<|end|>" + FINAL + "Hi<|return|>",
    "<|start|>",
    "<|channel|>commentary to=functions.f " + "x" * 40,
    "<|channel|>final" + " " * 600,
    "final answer: 1",
    "analysis",
    "to=functions.f is how",
    "to=functions.f {no JSON}",
    "final {}",
    "<|channel|>commentary to=functions.h<|message|>{}<|call|>",
    TO + "{no JSON}<|call|>",
    TO + '{"a": 1',
    "So " + TO + "[1]<|call|>",
    "So <|channel|>commentary to=functions.f",
    ANALYSIS + " on",
    "[TOOL_CALLS] is Mistral's, [TOOL_CALLS]f too",
]


@pytest.mark.parametrize("text", PROSE)
@pytest.mark.parametrize("size", [1, 1000])
def test_any_other_text_stays(text: str, size: int) -> None:
    fixes = CALLS_ALONE if text.startswith(ANALYSIS) else EVERY_FIX
    assert said(text, size, fixes=fixes) == (text, "", [], "stop")
    body = dumps(completion({"role": "assistant", "content": text}))
    assert repair_body(body, 200, ASKED, fixes).after[0] == body


@given(st.text(), st.integers(1, 5), st.sampled_from([*CALLS, *PROSE]))
def test_text_before_a_form_is_never_lost(text: str, size: int, name: str) -> None:
    form, calls = CALLS.get(name, (name, []))
    whole = text + "." + form
    parts: list[Part] = []
    at = Place()
    for place in range(0, len(whole), size):
        more, at = read(at, whole[place : place + size], Wanted(TOOLS))
        parts += more
    more, at = read(at, "", Wanted(TOOLS), ended=True)
    parts += more
    assert at.held == ""
    if form.endswith("</tool_call>") and not form.startswith(("<tool_call>", M3)):
        whole = whole.removesuffix("</tool_call>")  # nothing was opened
    assert "".join(part.text for part in parts).rstrip() == whole.rstrip()
    if form.startswith(("<", "[")):
        assert sum(len(part.calls or ()) for part in parts) == len(calls)


SPOKEN = [
    (FINAL + "It ends by <|end|> or so.<|end|>", "It ends by <|end|> or so.", ""),
    (FINAL + "Hi" + FINAL + " there", "Hi there", ""),
    (FINAL + "Hi <|channel|> there", "Hi <|channel|> there", ""),
    (FINAL + "Hi<|end|>\n<|st", "Hi<|end|>\n<|st", ""),
    (FINAL + "Hi<|re", "Hi<|re", ""),
    ("<|start|>assistant<|message|>Hi<|end|>", "Hi", ""),
    (ANALYSIS + ANALYSIS + "Hi", "Hi", "soso"),
    ("<|channel|>analysis<|message|>so" + FINAL + "Hi", "Hi", "so"),
    ("<|channel|>analysis<|message|>so", "", "so"),
    (ANALYSIS + "<|start|>assistant to=functions.h<|message|>{}<|call|>", None, "so"),
]


@pytest.mark.parametrize(("text", "words", "thought"), SPOKEN)
@pytest.mark.parametrize("size", [1, 3, 1000])
def test_message_that_speaks_of_marks(
    text: str, words: str | None, thought: str, size: int
) -> None:
    words = text.removeprefix(ANALYSIS) if words is None else words
    assert said(text, size) == (words, thought, [], "stop")


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_thoughts_before_the_answer_are_reasoning(size: int) -> None:
    both = said("<think>so <b></think>Hi <think>", size)
    assert both == ("Hi <think>", "so <b>", [], "stop")
    assert said("<think>so", size) == ("", "so", [], "stop")
    assert said("<think>so</thi", size) == ("", "so</thi", [], "stop")
    assert said("<think>so</think>" + F, size) == ("", "so", ONE, "tool_calls")


def test_what_waits_is_sent_before_the_finish_and_once() -> None:
    data = answer("<tool_call>{", 1000).replace(wire([STOP, DONE]), b"")
    both = data + wire([chunk({"content": "x"}, finish="stop"), DONE])
    out = repaired(both, ASKED, EVERY_FIX)
    assert taken(out).choices[0].text == "<tool_call>{x"


@pytest.mark.parametrize("name", CALLS)
def test_call_whose_provider_pauses_within_it_is_one(name: str) -> None:
    text, calls = CALLS[name]
    pipeline = Pipeline(ASKED, EVERY_FIX)
    out = pipeline.feed(wire([ROLE]))
    for part in map("".join, itertools.batched(text, 5)):
        out += pipeline.feed(wire([chunk({"content": part})]))
        out += pipeline.release()
        assert pipeline.waiting is None
    data = b"".join([*out, *pipeline.feed(wire([STOP, DONE])), *pipeline.end()])
    assert conformance.check_stream(data, conformance.Request(stream=True)) == []
    choice = taken(data).choices[0]
    found = [(call.name, call.arguments) for call in choice.calls]
    assert (found, choice.finish_reason) == (calls, "tool_calls")
    rest = iter(text)
    assert all(letter in rest for letter in choice.text)  # nothing twice


def test_words_with_pauses_within_stay_themselves() -> None:
    for text in PROSE:
        pipeline = Pipeline(ASKED, CALLS_ALONE)
        out = pipeline.feed(wire([ROLE]))
        for part in map("".join, itertools.batched(text, 2)):
            out += [*pipeline.feed(wire([chunk({"content": part})]))]
            out += pipeline.release()
        out += [*pipeline.feed(wire([STOP, DONE])), *pipeline.end()]
        choice = taken(b"".join(out)).choices[0]
        assert (choice.text, choice.calls, choice.finish_reason) == (text, [], "stop")


@pytest.mark.parametrize(
    "text", ["<think>so</think>Hi", ANALYSIS + FINAL + "Hi<|end|>"]
)
def test_blanks_that_waited_too_long_leave_it_the_begin(text: str) -> None:
    pipeline = Pipeline(ASKED, EVERY_FIX)
    out = pipeline.feed(wire([ROLE, chunk({"content": "\n\n"})]))
    out += [*pipeline.release(), *pipeline.feed(wire([chunk({"content": text}), STOP]))]
    choice = taken(b"".join([*out, *pipeline.end()])).choices[0]
    assert (choice.text, choice.reasoning) == ("\n\nHi", "so")


@pytest.mark.parametrize("text", ["<think>so</th", "Hi <tool"])
def test_event_that_passes_as_received_is_not_sent_again(text: str) -> None:
    class Faulty(Fix):
        name = "faulty"
        handles = ANY

        def edit(self, chunk: Chunk) -> bool:
            if self.seen.n == 1:
                raise RuntimeError
            return False

    data = wire([ROLE, chunk({"content": text}), STOP, DONE])
    assert repaired(data, ASKED, [*EVERY_FIX, Faulty]) == data
    other = chunk({"reasoning_content": "so"}, index=1)
    data = wire([chunk({"content": text}), other, STOP, DONE])
    alone = wire([chunk({"content": text}), STOP, DONE])
    first = taken(repaired(data, ASKED, [*EVERY_FIX, Faulty])).choices[0]
    assert first == taken(repaired(alone, ASKED, EVERY_FIX)).choices[0]
    both = [{"index": at, "delta": {"content": text}} for at in (0, 1)]
    data = wire([ROLE, chunk(None, choices=both)])
    assert repaired(data, ASKED, [*EVERY_FIX, Faulty], ended=False) == data


def test_choices_in_which_text_is_looked_for_are_bounded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(text_parts, "MAX_TRACKED", 8)
    for text in (F, "<think>so</think>"):
        events = [chunk({"content": text}, index=at) for at in range(9)]
        out = b"".join(feed([wire(events)], ASKED, EVERY_FIX, ended=False))
        *looked_in, last = taken(out).choices.values()
        assert not any(choice.text for choice in looked_in)
        assert last.text == text


def test_text_that_waits_is_bounded() -> None:
    wanted, size = Wanted(TOOLS), 64 * 1024
    begun = TO + '{"c":"'
    parts, at = read(Place(), begun, wanted)
    for _ in range(8):
        more, at = read(at, "x" * size, wanted)
        parts += more
    assert at.held == ""
    assert "".join(part.text for part in parts) == begun + "x" * 8 * size


def test_ends_that_a_call_speaks_of_are_bounded() -> None:
    wanted, begun = Wanted(TOOLS), TO + '{"c":"'
    _, at = read(Place(), begun + "<|call|>" * 16, wanted)
    assert at.held.startswith(TO)
    _, at = read(at, "<|call|>", wanted)
    assert at.held == ""
