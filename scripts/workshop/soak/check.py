"""Whether a client of the soak received what was due: nothing lost, swapped or forged.

The form of OpenAI and the meaning of a careless stream are read by `conformance`, which knows
nothing of the code under test. What a strict client takes from a stream is read by
tests/judge/strict.py, event by event.
"""

import json
import re
from dataclasses import dataclass, replace

from llm_normalize import conformance
from workshop.judged import meaning_of, taken

_MARK = re.compile(rb"<(\d+)>")
_BLANK_LINE = re.compile(rb"\r\n\r\n|\n\n|\r\r")


def strays(data: bytes, n: int) -> list[str]:
    """List the streams other than *n* that *data* has something of."""
    others = {found for found in _MARK.findall(data) if int(found) != n}
    return [f"it has words of stream {other.decode()}" for other in sorted(others)]


# -- streams ------------------------------------------------------------------------


def whole_stream(
    out: bytes, request: conformance.Request, meaning: conformance.Meaning
) -> list[str]:
    """List what is wrong with a complete stream."""
    return conformance.check_stream(out, request) or conformance.lost(
        meaning, taken(out)
    )


@dataclass(frozen=True)
class Sent:
    """What a provider could send of a stream before it broke.

    Attributes:
        wire: The bytes, decoded.
        arrived: Whether all of them have come to the proxy, for sure.
        bare: Whether events have no `data:` before them.
        narrow: Whether the client may have got no more of it than fits its window.
    """

    wire: bytes
    arrived: bool
    bare: bool
    narrow: bool = False


def broken_stream(out: bytes, request: conformance.Request, sent: Sent) -> list[str]:
    """List what is wrong with a stream of which the provider sent a part only."""
    whole = events_of(out)
    # The last may come half, if the message ends there; newlines keep alive.
    half = out[len(whole) :].lstrip(b"\n")
    cut = sent.narrow and half.startswith(b"data: "[: len(half)])
    if not cut and not sent.wire.endswith(half):
        return [f"half an event that nobody sent: {half[:200]!r}"]
    found = conformance.check_stream(whole, request, complete=False)
    if found:
        return found
    after = taken(whole)
    if sent.arrived:
        wire = whole_values(sent.wire[:-1]) if sent.bare else closed(sent.wire)
        before = replace(meaning_of(wire), unread=[])
    else:
        wire = whole_values(sent.wire) if sent.bare else sent.wire
        before = _shortened(meaning_of(wire), after)
        after = replace(after, unread=before.unread)  # it may have become an error
    # Usage has its place at the end: before it, there is none to send it in.
    return conformance.lost(replace(before, usage=after.usage), after, broke=True)


def started_stream(
    out: bytes,
    request: conformance.Request,
    meaning: conformance.Meaning,
    *,
    figures: bool,
) -> list[str]:
    """List what is wrong with the part of a stream that a client took who left.

    Args:
        out: What it took.
        request: What it asked for.
        meaning: What the stream means.
        figures: Whether its usage, if it has come, is known.
    """
    out = events_of(out)
    found = conformance.check_stream(out, request, complete=False)
    if found:
        return found
    after = taken(out)
    before = _shortened(meaning, after)
    usage = before.usage if after.usage and figures else after.usage
    return conformance.lost(replace(before, usage=usage), after, broke=True)


def events_of(out: bytes) -> bytes:
    """Return the events of a repaired stream that are whole."""
    return out[: out.rfind(b"\n\n") + 2] if b"\n\n" in out else b""


def closed(wire: bytes) -> bytes:
    """Return *wire* without an event at its end that was cut off.

    One that lacks nothing but its blank line is none.
    """
    end = max([each.end() for each in _BLANK_LINE.finditer(wire)], default=0)
    rest = wire[end:]
    return wire if rest.endswith((b"\n", b"\r")) and _is_value(rest) else wire[:end]


def _is_value(block: bytes) -> bool:
    found = [line[5:] for line in block.splitlines() if line.startswith(b"data:")]
    try:
        json.loads(b"\n".join(found))
    except ValueError:
        return False
    return True


def whole_values(wire: bytes) -> bytes:
    """Return *wire* without a value at its end that was cut off."""
    text = re.sub("\r\n?", "\n", wire.decode("latin-1"))
    at = 0
    while at < len(text):
        if text[at] != "{":
            at = text.find("\n", at) + 1 or len(text)
            continue
        try:
            _, at = json.JSONDecoder().raw_decode(text, at)
        except ValueError:
            break
    return text[:at].encode("latin-1")


def _shortened(
    meaning: conformance.Meaning, after: conformance.Meaning
) -> conformance.Meaning:
    """Return *meaning* cut where *after* ends, if that is how it begins.

    What is no beginning of it stays as it is, so that the comparison shows it.
    """
    choices = {}
    for index, due in meaning.choices.items():
        got = after.choices.get(index, conformance.Choice())
        # The client may have less.
        both = zip(due.calls, got.calls, strict=False)
        calls = [_shorter_call(*each) for each in both]
        function = due.function_call
        if function and got.function_call:
            function = _shorter_call(function, got.function_call)
        elif not got.function_call:
            function = None
        choices[index] = replace(
            due,
            text=_shorter(due.text, got.text),
            reasoning=_shorter(due.reasoning, got.reasoning),
            refusal=_shorter(due.refusal, got.refusal),
            calls=calls,
            function_call=function,
            logprobs=due.logprobs[: len(got.logprobs)],
        )
    return replace(
        meaning,
        choices=choices,
        errors=meaning.errors[: len(after.errors)],
        # None may be missing, and none may be made up.
        done=meaning.done and after.done,
    )


def _shorter(due: str, got: str) -> str:
    return got if due.startswith(got) else due


def _shorter_call(due: conformance.Call, got: conformance.Call) -> conformance.Call:
    arguments = (
        got.arguments if due.as_object else _shorter(due.arguments, got.arguments)
    )
    return replace(due, arguments=arguments)


# -- bodies -------------------------------------------------------------------------


def whole_body(
    out: bytes, request: conformance.Request, meaning: conformance.Meaning
) -> list[str]:
    """List what is wrong with an answer that is one body."""
    if meaning.errors:  # it is the answer, whatever was sent before
        found = conformance.check_error_body(out)
        meaning = replace(meaning, choices={}, usage=None)
    else:
        found = conformance.check_body(out, request)
    return found or conformance.lost(meaning, conformance.meaning_of_body(out))
