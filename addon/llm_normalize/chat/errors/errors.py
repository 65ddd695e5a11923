"""Errors in OpenAI's form: `{"error": {"message", "type", "param", "code"}}`."""

import re
from http import HTTPStatus

from ...text.html_text import shown
from ...wire.json_text import Json, dumps
from ..chunks.chunk import Chunk, choices
from ..chunks.chunk_form import is_chunk
from ..chunks.finish_words import FAILED, finish_word, meaning
from .context_overflow import is_overflow

_LONG = 2000  # characters that are sent of what a page says
_READ = 64 * 1024  # characters of a text whose words are looked at
_PAGE = 4 * _READ  # and of a page

KEYS = ("message", "type", "param", "code")

_KINDS: dict[int, str] = {
    HTTPStatus.UNAUTHORIZED: "authentication_error",
    HTTPStatus.FORBIDDEN: "permission_error",
    HTTPStatus.TOO_MANY_REQUESTS: "rate_limit_error",
}
_STATUS = (
    "code", "status", "status_code", "statusCode", "type", "error_code", "Code",
    "errorcode", "httpCode",
)  # fmt: skip
# What types and messages say, the surest first.
_STATUS_WORDS: tuple[tuple[int, str], ...] = (
    (429, "rate.?limit|too.?many.?requests|throttl|limit (?:reached|exceeded)"),
    (402, "insufficient.?(?:balance|credit|fund)|no credits|payment.?required"),
    (429, "quota"),
    (
        401,
        "authenti|unauthori[sz]ed|no.?auth|auth.?fail|api.?(?:key|token)|log ?in fail",
    ),
    (401, "access.?key|token.?invalid|token (?:has |is )?expired|expired.{1,9}token"),
    (403, "permission|forbidden|access.?denied"),
    (404, "not.?found|does not exist|no such model"),
    (502, "bad.?gateway"),
    (503, "overloaded|unavailable|capacity|busy"),
    (504, "time.?out|timed out"),
    (400, "invalid|bad.?request|unsupported|validation|context.?length|too long"),
)
_FAILURE = "error|exception|fail|refused|abort|crash|terminated|exceeded|denied"
# https://platform.minimax.io/docs/api-reference/errorcode
_OWN_CODES = {
    1001: 504, 1002: 429, 1004: 401, 1008: 402, 1026: 400, 1027: 400, 1039: 429,
    1041: 429, 1042: 400, 2013: 400, 2045: 429, 2049: 401, 2056: 429,
}  # fmt: skip
# https://docs.bigmodel.cn/cn/api/api-code: texts, in `error.code`
_CODES = {
    "1000": 401, "1001": 401, "1002": 401, "1003": 401, "1004": 401, "1113": 429,
    "1210": 400, "1211": 404, "1212": 400, "1213": 400, "1214": 400, "1215": 400,
    "1220": 403, "1222": 404, "1261": 400, "1301": 400, "1302": 429, "1303": 429,
    "1304": 429, "1305": 429, "1308": 429, "1310": 429,
}  # fmt: skip
# https://developers.cloudflare.com/workers-ai/platform/errors/, beside `success: false`;
# 5006: https://github.com/anomalyco/opencode/issues/30381
_INTERNAL = {
    "3003": 400, "3006": 413, "3007": 408, "3008": 408, "3023": 403, "3036": 429,
    "3039": 400, "3040": 429, "3041": 403, "3042": 404, "5004": 400, "5005": 405,
    "5006": 400, "5007": 400, "5016": 403, "5018": 403, "5019": 405,
}  # fmt: skip
_IN_WORDS = re.compile(r"\b[0-9]{4}(?=: )")
_WORDS = ("title", "message", "error", "detail", "error_message", "msg", "error_msg")
_MORE = (
    "errors", "error_description", "reason", "err", "Message", "details", "issues",
    "errorMessage", "exception", "ErrorMsg", "copilot_errors",
)  # fmt: skip
# Whose own words count, and not the rest.
_AROUND = (
    "base_resp", "Error", "fault", "Response", "ResponseMetadata", "result", "header",
)  # fmt: skip
# Where words stand if they stand nowhere else.
_ELSE = re.compile(r"text|content|data|[a-z]\w*Exception").fullmatch
_HOLDERS = ("error", "errors", "detail", *_AROUND)
_ALL = (
    "message", "msg", "detail", "errors", "title", "error", "status_msg", "Message", "Msg",
    "Error", "faultstring", "description", "error_message", "error_msg", "err",
    "reason",
)  # fmt: skip
_DEEP = 8  # levels of nesting in which words and codes are looked for


def wrapped(message: str, kind: str, param: str | None, code: str | None) -> Chunk:
    """Return an error body with OpenAI's four keys."""
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


def failures_in(chunk: Chunk) -> list[Chunk]:
    """Return an error for each word of a failure among the finish reasons of *chunk*."""
    ended = choices(chunk) if is_chunk(chunk) else []
    found = [each.get("finish_reason") for each in ended]
    words = [finish_word(each) for each in found if meaning(each) == FAILED]
    return [failure(word) for word in dict.fromkeys(words)]


def failure(word: str) -> Chunk:
    """Return an error for the *word* with which a provider says that it failed."""
    message = "The provider ended the answer with an error"
    if word.lower() == FAILED:
        return {"message": message, "type": "server_error", "param": None, "code": None}
    message = f"The provider ended the answer with the finish reason {word!r}"
    return {"message": message, "type": "server_error", "param": None, "code": word}


def lost(what: str) -> Chunk:
    """Return the error of an answer in which *what* may be missing: an event was lost."""
    message = (
        "Bad gateway: the provider sent an event that cannot be read, and "
        f"{what} may be missing in this answer"
    )
    return wrapped(message, "server_error", None, None)


def message_of(body: Chunk, status: int) -> str:
    """Return the words of a flat error *body*, with the request's id if it has one."""
    own = [text for key in _WORDS + _MORE if (text := words_of(body.get(key)))]
    words = own + [text for key in _AROUND if (text := text_in(body.get(key)))]
    request = text_of(body.get("requestId") or body.get("request_id"))
    known = {"status", "code", "type", "requestId", "request_id"}
    if not words:
        words = [t for key in body if _ELSE(key) and (t := words_of(body[key]))]
    if not words and body.keys() - known:  # the provider's words, wherever they are
        words = [dumps(body).decode()]
    message = ": ".join(dict.fromkeys(words)) or phrase(status)
    return f"{message} (request {request})" if request else message


def words_of(value: Json) -> str | None:
    """The words of an error or a list of errors, else its JSON; None without either.

    Of FastAPI's list: each `msg` with its place, without the echoed input.
    """
    if isinstance(value, list):
        texts = [text_in(each) or text_of(each) for each in value]
        return "; ".join(text for text in texts if text) or None
    return text_in(value) or text_of(value)


def text_in(value: Json, deep: int = _DEEP) -> str | None:
    """The text under *value*'s keys for words, *deep* levels down; None without any."""
    if not deep or not isinstance(value, list | dict):
        return text_of(value) if deep else None
    if isinstance(value, list):
        texts = [text for each in value if (text := text_in(each, deep - 1))]
        return "; ".join(texts) or None
    found = (text for key in _ALL if (text := text_in(value.get(key), deep - 1)))
    words = next(found, None)
    place = value.get("loc")
    if words and isinstance(place, list) and place:
        return f"{'.'.join(map(str, place))}: {words}"
    return words


def _objects(value: Json, deep: int = _DEEP) -> list[Chunk]:
    """Return *value* and the objects in it that tell of an error; none if no object."""
    if not deep:
        return []
    if isinstance(value, list):
        return [found for each in value for found in _objects(each, deep - 1)]
    if not isinstance(value, dict):
        return []
    inner = [_objects(value.get(key), deep - 1) for key in _HOLDERS]
    return [value, *(found for each in inner for found in each)]


def code_of(body: Chunk) -> Json:
    """Return the code that a flat error *body*, or its first error, tells."""
    codes = [
        part.get(key)
        for part in _objects(body)
        for key in (
            "code",
            "status_code",
            "error_code",
            "Code",
            "errorcode",
            "internalCode",
        )
    ]
    return next((code for code in codes if code), None)


def text_of(value: Json) -> str | None:
    """Return *value* as text, JSON where it has parts; None where it says nothing."""
    if value is None or isinstance(value, bool) or value in ("", [], {}):
        return None
    return value if isinstance(value, str) else dumps(value).decode()


def words_of_page(text: str) -> str:
    """The text of a web page, on one line."""
    return " ".join(shown(text[:_PAGE]).split())[:_LONG]


def phrase(status: int) -> str:
    """HTTP's name for *status*."""
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return f"HTTP status {status}"


def sounds_failed(text: str) -> bool:
    """Tell whether the words of *text* speak of a failure."""
    text = text[:_READ]
    words = (_FAILURE, *(known for _, known in _STATUS_WORDS))
    return any(re.search(known, text, re.IGNORECASE) for known in words)


def kind_of(status: int) -> str:
    """Return the type that OpenAI's API gives errors of this *status*."""
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return "server_error"
    return _KINDS.get(status, "invalid_request_error")


def status_of(body: Chunk) -> int:
    """Return the HTTP status that an error *body* tells, by number or by word."""
    own = body.get("base_resp")
    code = own.get("status_code") if isinstance(own, dict) else None
    if isinstance(code, int) and code in _OWN_CODES:
        return _OWN_CODES[code]
    error = _objects(body.get("error"))
    code = error[0].get("code") if error else None
    if isinstance(code, str) and code in _CODES:
        return _CODES[code]
    parts = (*error, *_objects(body))
    found = [part.get(key) for part in parts for key in _STATUS]
    codes = [str(each) for each in found if isinstance(each, str | int)]
    for each in codes:
        if each in _NUMBERS:
            return int(each)
    message = message_of(body, HTTPStatus.INTERNAL_SERVER_ERROR)
    if body.get("success") is False:
        internal = [str(code_of(body)), *_IN_WORDS.findall(message)]
        known = [_INTERNAL[each] for each in internal if each in _INTERNAL]
        if known:
            return known[0]
    if is_overflow({"message": message}, HTTPStatus.OK):
        return HTTPStatus.BAD_REQUEST
    return _status_in((" ".join(codes), message))


def _status_in(texts: tuple[str, ...]) -> int:
    for words in texts:
        for status, known in _STATUS_WORDS:
            if re.search(known, words[:_READ], re.IGNORECASE):
                return status
    return HTTPStatus.INTERNAL_SERVER_ERROR


_NUMBERS = {
    str(int(status)) for status in HTTPStatus if status >= HTTPStatus.BAD_REQUEST
}
