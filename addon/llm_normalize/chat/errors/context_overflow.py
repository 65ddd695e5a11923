"""Whether an error says that a request is too long for its model.

Each provider has its own words for it. Limits of another kind sound alike, and agents must
not shorten a conversation for those: rates and quotas, the size of an image, and a limit
of tokens for the answer that is too large by itself.
"""

import re
from collections.abc import Iterator
from itertools import islice

from ...text.echo import ECHO_KEYS
from ...wire.json_text import Json
from ..chunks.chunk import Chunk

CODE = "context_length_exceeded"
_OTHER_STATUS = {"401", "402", "403", "404", "408", "409", "429", "503", "529"}
_CODES = re.compile(
    rf"{CODE}|exceed_context_size_error|(?:model_)?context_window_exceeded"
    r"|(?:model_)?max_prompt_tokens_exceeded|tokens_limit_reached|prompt_too_long"
    r"|input_too_long|context_too_long|ContextWindowExceeded(?:Error)?"
    r"|MessageContentTooLong",
    re.IGNORECASE,
)

_MORE = (
    r"(?:exceed(?:s|ed|ing)?|overflow(?:s|ed)?|surpass(?:es|ed)?"
    r"|too (?:long|large|many|big)|(?:long|larg|great|high|bigg)er than"
    r"|(?:more|less|fewer) than|(?:above|beyond|over) the|only|but|however|<=|>|reduce|shorten)"
)
_ROOM = (
    r"(?:context[ _-]?(?:length|window|size|limit|len)"
    r"|max(?:imum)?[ _](?:(?:allowed|supported|possible|total|token)[ _])?"
    r"(?:context|prompt|input|seq(?:uence)?|model|message)[ _]?"
    r"(?:tokens?|len(?:gth)?|size|characters?|window)?"
    r"|max_seq_len|max_model_len|max_total_tokens|max_num_tokens|session_len|n_ctx"
    r"|model(?:'s)? token limit|maximum (?:allowed )?(?:number of tokens|tokens? allowed))"
)
_ASKED = (
    r"(?:prompts?|inputs?|messages|conversation|chat history|context|request)\b"
    r"[`'\")]{0,2}(?:[ _-](?:tokens?|token count|length|len|size|text))*"
)
_SAYS = re.compile(
    rf"\b{_ROOM}[^;]{{0,120}}?(?<!\w){_MORE}(?!\w)"
    rf"|(?<!\w){_MORE}[^;]{{0,60}}?\b{_ROOM}"
    rf"|\b{_ASKED} (?:is |are |was |were )?(?:much |way )?too long\b"
    rf"|\b(?!request){_ASKED} (?:is |are |was |were )?(?:much |way )?too large\b"
    rf"|\b{_ASKED}[^.;]{{0,40}}?\bexceed(?:s|ed)?[^.;]{{0,40}}?\b(?:tokens?|length|limit of \d+)\b"
    r"|\bexceed(?:s|ed)? (?:the )?(?:input |prompt )?(?:token )?limit of [\d,]+ (?:input |prompt )?tokens?"
    r"|\btoo many (?:input |prompt )?tokens\b|\btokens in request more than max\b"
    r"|\brange of input length should be\b"
    r"|\btoo long for (?:the |this )?model"
    r"|\b(?:input|prompt)(?: token)? (?:length|count|tokens?) exceeds? (?:the )?model(?:'s)? limit"
    r"|\bmax size: [\d,]+ tokens|\btotal message size \d+ exceeds\b"
    r"|`?inputs`? tokens \+ `?max_new_tokens`? must be"
    r"|`?inputs`? must have less than"
    r"|\breduce (?:the )?(?:length|number of tokens|size)? ?(?:of |in )?"
    r"(?:the |your )?(?:input|messages?|prompt|conversation|either)"
    r"|\bshorten (?:the |your )?(?:input|messages?|prompt|conversation)"
    r"|\bnot enough context\b"
    r"|上下文.{0,12}(?:超|过长|限制)|(?:输入|提示词?|消息|prompt).{0,8}(?:超长|过长|超过|超出)"
    r"|超过.{0,6}(?:最大|上下文).{0,4}长度",
    re.IGNORECASE,
)
_OTHER = re.compile(
    r"rate.?limit|\bper[ -](?:minute|min|day|hour|second|month|week)\b|\b[TR]P[MD]\b"
    r"|quota|throttl|too many requests|please wait|wait before|credit|balance|billing"
    r"|concurren|time.?out|timed out"
    r"|\b(?:image|file|audio|video)s? (?:\w+ )?(?:exceed|is|are|must|too)|\bpixels\b"
    r"|\b(?:kilo|mega)?bytes\b|(?<![\w.])[\d.]++ ?[KMG]i?B\b"
    r"|\b(?:tool|function|schema|name|description|stop|user|metadata|batch|array)s?['\"`]?"
    r" (?:\w+ )?(?:is|are|exceeds?|must|has|have) ",
    re.IGNORECASE,
)
_NO_ROOM = re.compile(r"max_tokens must be at least 1, got -(?:[2-9]|\d\d)")
"""What is left for the answer, where the request did not limit it: -1 may be its own."""
_ANSWER = re.compile(
    r"max_(?:completion_|output_|new_)?tokens|maximum (?:output |completion )?tokens you"
    r"|(?:output|completion) tokens|maxOutputTokens",
    re.IGNORECASE,
)
"""What a limit of the answer is called."""
_OF_THE_REQUEST = re.compile(r"\b(?:input|prompt|messages?|inputs)\b", re.IGNORECASE)
_LIMIT = re.compile(
    r"(?:context (?:length|window|size|limit)|must be <=|max_seq_len|max_model_len)"
    r"\D{0,24}(\d[\d,]*)",
    re.IGNORECASE,
)
_WANTED = re.compile(
    r"max_(?:completion_|new_)?tokens\W{0,3}(?:of|is|too|large|\W){0,12}(\d[\d,]*)"
    r"|(?<![\d,])(\d[\d,]*+) (?:`?max_new_tokens|(?:tokens )?(?:in|for) (?:the|your) (?:completion|output))",
    re.IGNORECASE,
)
_LONG = 4000  # characters of a text that are looked at
_MOST = 12  # texts
_DEEP = 6


def is_overflow(error: Chunk, status: int) -> bool:
    """Tell whether *error*, an `error` object, says that the request is too long.

    Args:
        error: The object.
        status: The HTTP status of the answer.
    """
    code, kind = str(error.get("code")), str(error.get("type"))
    if {code, str(status)} & _OTHER_STATUS:
        return False
    if any(map(_CODES.fullmatch, (code, kind))):
        return True
    return any(map(_says_so, islice(_texts(error, _DEEP), _MOST)))


def _texts(value: Json, deep: int) -> Iterator[str]:
    """Yield the words in *value*, save those that may repeat the request."""
    if isinstance(value, str):
        yield value[:_LONG]
    elif deep and isinstance(value, list):
        for each in value[:_DEEP]:
            yield from _texts(each, deep - 1)
    elif deep and isinstance(value, dict):
        for key, each in value.items():
            if key not in ECHO_KEYS:
                yield from _texts(each, deep - 1)


def _says_so(text: str) -> bool:
    if _NO_ROOM.search(text):
        return True
    if not (_SAYS.search(text) or _CODES.search(text)) or _OTHER.search(text):
        return False
    if not _ANSWER.search(text):
        return True
    limit, wanted = _number(_LIMIT, text), _number(_WANTED, text)
    is_alone = limit is not None and wanted is not None and wanted >= limit
    return bool(_OF_THE_REQUEST.search(text)) and not is_alone


def _number(pattern: re.Pattern[str], text: str) -> float | None:
    found = pattern.search(text)
    digits = found and next(filter(None, found.groups()))
    # `int` refuses a number of thousands of digits.
    return float(digits.replace(",", "")) if digits else None
