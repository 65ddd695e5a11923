"""The data of an event: how it is framed and spelled."""

import re

from ..chat.chunks.chunk import choices
from ..chat.chunks.chunk_form import is_chunk, is_readable
from ..chat.errors.failed_event import holds_answer, may_be_chunk
from ..chat.escaped_answer import escaped_answer
from ..repair.fix import DONE, STOP, TEXT, WORD, Example, Fix, chunk, completion, wire
from ..wire.json_text import dumps, escape_strings, first_value, is_broken, loads
from ..wire.sse import Event, Line, encode

_TWICE = b"data: " + wire([WORD])
_INNER = re.compile(rb"(?:(?:event|id|retry): ?[^{]*?)?(?:data: ?)+")
_FIELD = re.compile(rb"(?:event|id|retry): ?[^{]*")


# `data: data: {…}`: an event stream put into another.
class DataDoubled(Fix):
    """Unwrap the inner stream: its data counts, its other fields do not."""

    name = "data-doubled"
    changes = "`data: data: {…}` -> `data: {…}`"
    why = "openai-node, openai-python and the AI SDK fail to parse `data: {…}` as JSON."
    providers = ("gateways and FastAPI servers that frame a stream once more",)
    sources = (
        "https://github.com/openclaw/openclaw/issues/96497",
        "https://github.com/aws/bedrock-agentcore-sdk-python/issues/52",
        "https://github.com/Helicone/ai-gateway/issues/137",
    )
    also_covered_by = ("data-unreadable",)
    examples = (
        Example.of_event("chunk", _TWICE, WORD),
        Example("done", [b"data: data: [DONE]\n\n"], [DONE]),
        Example("name", [b"data: event: message\n\n", _TWICE], [b"\n", WORD]),
        Example.of_event(
            "name on the line", b"data: event: message" + wire([WORD]), WORD
        ),
        Example.untouched("text", [b"data: data: hello\n\n"]),
    )

    def event(self, event: Event) -> list[Event] | None:
        """Take the inner field names out."""
        changed = False
        remaining = []
        for line in event.lines:
            value = line.value if line.name == b"data" else b""
            if _FIELD.fullmatch(value):
                changed = True
                continue
            if inner := _INNER.match(value):
                line.text = b"data: " + value[inner.end() :]
                changed = True
            remaining.append(line)
        event.lines[:] = remaining
        return [event] if changed else None


_TEXT = chunk({"role": "assistant", "content": "a\tb\nc"})
_RAW = wire([_TEXT]).replace(rb"\t", b"\t").replace(rb"\n", b"\n")
_PATH = chunk({"role": "assistant", "content": r"C:\Users\d"})
_SINGLE = wire([_PATH]).replace(rb"\\", b"\\")
_BODY = completion({"role": "assistant", "content": "a\nb"})
_FIELDS = re.compile(rb"\A(?:(?:event|id|retry):[^\n]*+\n)*+(?:data:[ \t]*+)++")


# JSON whose strings have raw control characters, or escapes that JSON does not know.
class DataUnescaped(Fix):
    r"""Escape them: nothing is lost. A `\'` loses its backslash.

    Of a body repair/engine/body.py does it.
    """

    name = "data-unescaped"
    changes = r"raw tab, newline, ESC, …, and `\x`, `\'` in a string -> escaped"
    why = "Every client fails to parse it as JSON, and the answer ends there."
    providers = ("gateways that build JSON of strings",)
    sources = (
        "https://github.com/earendil-works/pi/issues/6762",
        "https://github.com/earendil-works/pi/issues/2981",
    )
    also_covered_by = ("data-unreadable",)
    examples = (
        Example.of_event("control characters", _RAW, _TEXT),
        Example.of_event("escapes", _SINGLE, _PATH),
        Example.of_body("body", dumps(_BODY).replace(rb"\n", b"\n"), _BODY),
        Example.untouched("escaped", [_TEXT, _PATH, DONE]),
        Example.untouched("broken", [b'data: {"a":"\t"\n\n']),
    )

    def event(self, event: Event) -> list[Event] | None:
        """Escape what the strings of its data have."""
        data = event.data
        if event.foreign:  # a newline in a string has cut the line
            data = _FIELDS.sub(b"", event.raw.strip())
        if not data or not data.startswith((b"{", b"[")):
            return None
        fixed = escaped_answer(data, self.seen)
        return None if fixed is None else [Event(encode(fixed), event.n)]


_SPACED = dumps(TEXT).replace(b',"created"', b',\r\n  "created"')


# Lines of JSON, or `[DONE]`, without `data:` before them.
class DataNameMissing(Fix):
    """Frame a value that stands alone as an event, on one line."""

    name = "data-name-missing"
    changes = "`{…}` or `[DONE]` without `data:` -> `data: {…}`"
    why = "Every client skips the line: the answer is empty, or never ends."
    providers = ("servers that stream lines of JSON", "servers that ignore `stream`")
    sources = (
        "https://github.com/hyperonym/basaran/issues/144",
        "https://github.com/n8n-io/n8n/issues/18924",
    )
    examples = (
        Example(
            "lines",
            [dumps(TEXT) + b"\n", dumps(STOP) + b"\n", DONE],
            [TEXT, STOP, DONE],
        ),
        Example("several lines", [_SPACED], [TEXT]),
        Example("without an end", [dumps(TEXT) + dumps(STOP)], [TEXT, STOP]),
        Example("done", [TEXT, STOP, b"[DONE]\n\n"], [TEXT, STOP, wire([DONE, b"\n"])]),
        Example.untouched("not a chunk", [b'{"status": "ok"}\n']),
        Example.untouched("half a value", [dumps(TEXT)[:40]]),
    )

    def event(self, event: Event) -> list[Event] | None:
        """Join the value's lines: a line end stands between its tokens only."""
        if not event.is_value:
            return None
        value = b"".join(line.text.strip(b" \t") for line in event.lines)
        value = value.decode(errors="replace").encode()  # it is written anew
        event.lines[:] = [Line(b"data: " + value, b"\n")]
        event.blank = b"\n"
        event.is_value, event.closed = False, True
        return [event]


_SPLIT = wire([TEXT]).replace(b',"created"', b'\ndata: ,"created"')


# One JSON value spread over several `data` lines.
class DataLinesSeveral(Fix):
    """Write the data of an event as one line."""

    name = "data-lines-several"
    changes = "several `data` lines in one event -> one line"
    why = (
        "The standard joins the lines, but clients that decode line by line "
        "(Continue, one-api) fail on each half."
    )
    providers = ("servers that pretty-print JSON",)
    sources = (
        "https://html.spec.whatwg.org/multipage/server-sent-events.html",
        "https://github.com/continuedev/continue/blob/main/packages/fetch/src/stream.ts",
    )
    examples = (
        Example.of_event("two lines", _SPLIT, TEXT),
        Example.untouched("no JSON", [b"data: a\ndata: b\n\n"]),
    )

    def event(self, event: Event) -> list[Event] | None:
        """Join the data lines in place of the first.

        Between the tokens of a JSON text a line feed means nothing, so it goes; in a string
        it is a part of the text that lacks its escape.
        """
        lines = [line for line in event.lines if line.name == b"data"]
        if len(lines) < 2:  # noqa: PLR2004
            return None
        first = lines[0]
        values = [line.value for line in lines]
        while len(values) > 1 and values[0].lstrip().startswith(b":"):
            del values[0]  # a comment, with which no value begins
        joined = escape_strings(b"\n".join(values))
        first.text = b"data: " + joined.replace(b"\n", b"")
        # By identity: an empty first line, once joined, equals the one it took over.
        event.lines[:] = [
            line for line in event.lines if line is first or line.name != b"data"
        ]
        return [event]


_TIGHT = wire([TEXT]).replace(b"data: ", b"data:")


# `data:{…}` without the one space, or with blanks around its value.
class DataSpaceMissing(Fix):
    """Write `data: ` with exactly one space before, and no blank after, the value."""

    name = "data-space-missing"
    changes = "`data:{…}` -> `data: {…}`"
    why = (
        "The standard makes the space optional, but line scanners that test for "
        "`data: ` skip every line without it: the answer is empty. `[DONE]` with a "
        "blank after it is not recognised."
    )
    providers = ("Spring WebFlux gateways", "iFlow", "Azure-fronting gateways")
    sources = (
        "https://html.spec.whatwg.org/multipage/server-sent-events.html",
        "https://github.com/spring-projects/spring-ai/issues/1089",
        "https://github.com/dataelement/Clawith/issues/106",
        "https://github.com/continuedev/continue/issues/5580",
    )
    examples = (
        Example.of_event("no space", _TIGHT, TEXT),
        Example("done", [b"data:[DONE]\n\n"], [DONE]),
        Example("blank after done", [b"data: [DONE] \n\n"], [DONE]),
        Example.untouched("not a chunk", [b"data:hello\n\n"]),
    )

    def event(self, event: Event) -> list[Event] | None:
        """Respell the data lines."""
        changed = False
        for line in event.lines:
            if line.name == b"data":
                text = b"data: " + line.value.strip(b" \t")
                changed |= text != line.text
                line.text = text
        return [event] if changed else None


# `data: : comment`: a comment that was framed as data.
class DataComment(Fix):
    """Send a bare newline in its place, at the same moment."""

    name = "data-comment"
    changes = "`data: : comment` -> a bare newline"
    why = "openai-node fails: it could not parse the message into JSON."
    providers = ("gateways that frame OpenRouter's keep-alives once more",)
    sources = ("https://github.com/mnfst/llm-gateway/issues/2053",)
    also_covered_by = ("data-unreadable",)
    examples = (
        Example("comment", [TEXT, b"data: : WAIT\n\n"], [TEXT, b"\n"]),
        Example.untouched("text", [b"data: x: y\n\n"]),
    )

    def event(self, event: Event) -> list[Event] | None:
        """Drop the data lines."""
        data = event.data
        if data is None or not data.lstrip().startswith(b":"):
            return None
        event.lines[:] = [line for line in event.lines if line.name != b"data"]
        event.blank = b"\n"
        event.closed = True
        return [event]


_NOTHING = re.compile(
    rb'null|true|\{\}|\[\]|""|\{"(?:type|event)":\s*"(?:ping|heartbeat|keep-?alive)"\}|'
    rb"(?i:ping|pong|heartbeat|keep[-_ ]?alive|undefined|none|nan|nil|\[object \w+\])|"
)
_ALIVE = re.compile(rb"event: ?(?:ping|heartbeat|keep-?_?alive)")
_SAYS = re.compile(rb'"(?:choices|error|usage)"|\[DONE\]')


# `data: null`, or nothing at all, to keep the connection alive.
class DataNull(Fix):
    """Send a bare newline in its place, at the same moment."""

    name = "data-null"
    changes = "`data: null`, `data: {}`, pings, blanks -> a bare newline"
    why = "openai-python yields None for it, and loops fail with an AttributeError."
    providers = ("gateways that keep connections alive",)
    sources = ("https://github.com/NousResearch/hermes-agent/issues/80822",)
    also_covered_by = ("data-unreadable",)
    examples = (
        Example("null", [TEXT, b"data: null\n\n"], [TEXT, b"\n"]),
        Example("nothing", [TEXT, b"data: \n\n"], [TEXT, b"\n"]),
        Example("no key", [TEXT, b"data: {}\n\n"], [TEXT, b"\n"]),
        Example("blanks", [TEXT, b"  \n"], [TEXT, b"\n"]),
        Example("ping", [TEXT, b'data: {"type": "ping"}\n\n'], [TEXT, b"\n"]),
        Example.untouched("chunk", [TEXT, STOP, DONE]),
    )

    def event(self, event: Event) -> list[Event] | None:
        """Drop the data lines."""
        data = event.data
        if not event.raw.strip() and event.raw.strip(b"\r\n"):
            return [event]  # a line of blanks, which the event no longer has
        named = any(_ALIVE.fullmatch(line.text) for line in event.lines)
        alive = named and not _SAYS.search(data or b"")
        if data is None or not (alive or _NOTHING.fullmatch(data.strip())):
            return None
        if not event.closed:
            if not event.lines[-1].end:
                return None
            event.closed = True  # where a line end parts the events
        event.lines[:] = [line for line in event.lines if line.name != b"data"]
        return [event]


_HALF = wire([TEXT])[:40] + b"\n\n"
_PROGRESS = b'event: hermes.tool.progress\ndata: {"tool": "web_search"}\n\n'


# Data that is neither a chunk nor an error: broken JSON, or another protocol's event.
class DataUnreadable(Fix):
    """Send a bare newline in its place, at the same moment; the log has the event."""

    name = "data-unreadable"
    changes = "`data: {broken`, `data: 5`, events of other protocols -> a bare newline"
    why = (
        "One such event ends the whole answer in Chatbox and AnythingLLM, and in each "
        "client that decodes every event as a chunk."
    )
    providers = ("Hermes Agent (`hermes.tool.progress`)", "workers behind gateways")
    sources = (
        "https://github.com/janhq/jan/issues/8280",
        "https://github.com/anomalyco/opencode/issues/38106",
    )
    examples = (
        Example("half of it", [TEXT, _HALF], [TEXT, b"\n"]),
        Example.of_event("words behind a chunk", wire([TEXT])[:-2] + b"bye\n\n", TEXT),
        Example("a number", [TEXT, b"data: 5\n\n"], [TEXT, b"\n"]),
        Example("another protocol", [_PROGRESS, TEXT], [b"\n", TEXT]),
        Example.untouched("an error", [TEXT, {"error": {"message": "Busy"}}]),
        Example.untouched("a ping", [b"event: ping\n\n", TEXT]),
        Example.untouched("broken off", [TEXT, _HALF[:-2]]),
        Example.untouched(
            "what some clients read", [b'data: {"choices":[{"delta":{"x":NaN}}]}\n\n']
        ),
    )

    def unread(self, event: Event) -> list[Event] | None:
        """Leave nothing but the newline of it."""
        if event.foreign or not event.closed:
            return None
        data = event.data or b""
        try:
            value = loads(data)
        except (ValueError, RecursionError):
            return _rest(data, event.n) if is_broken(data) else None
        if is_chunk(value) and choices(value):  # a client may read some of it
            return None
        text = value.encode(errors="replace") if isinstance(value, str) else data
        return None if holds_answer(text) else [_newline(data, event.n)]


def _newline(lost: bytes, n: int) -> Event:
    return Event(b"\n", n, is_hole=may_be_chunk(lost))


def _rest(data: bytes, n: int) -> list[Event] | None:
    """Return the one chunk that broken *data* begins with, or nothing of it."""
    data = escape_strings(data.lstrip())
    first = first_value(data)
    is_begin = bool(first) and data.startswith(first)  # not where it is no UTF-8
    is_first = is_begin and is_chunk(value := loads(first)) and is_readable(value)
    rest = data[len(first) :] if is_first else data
    if holds_answer(rest):
        return None
    if not is_first:
        return [_newline(data, n)]
    return [Event(encode(first), n, is_hole=may_be_chunk(rest))]
