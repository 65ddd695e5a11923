"""Whether a refusal means that its path is not served, or what the request names.

Both are 404. A web server that does not know a path cannot know what a request for it
says: it sends nothing, a page or a fixed sentence, at most with the URL. What knows the
path names what it has looked for: the model, or the response that another one continues.
So whatever speaks of neither is about the path. A refusal that points to chat completions
is, too, though it speaks of the model ("not supported by this API").

One that refuses a type of tool, of item or of block, an image in a tool's output, the form of
the input as a whole, a call without its output or its thoughts, or demands a schema of a tool
of Anthropic's own, comes from a server that serves the path without what its clients send
today. So does Kimi's, which says nothing else. They send it with each request, so it is as
good as none: in chat, those are functions and messages, each call with its output.

LM Studio answers 200 where it does not serve a path.
"""

import re

from ...text.html_text import is_page

_OK = 200
_MISSING = 404
_NOT_ALLOWED = 405
STATUSES = (_MISSING, _NOT_ALLOWED)
"""Status of answers that may be about the path."""
REFUSED = (400, 422)
"""Those of answers that may refuse what clients send with each request."""

_LONG = 8192
"""Characters of a refusal that are searched: it says at its beginning what is wrong."""
_CHAT = "chat/completions"
_UNEXPECTED = b'{"error":"Unexpected endpoint or method'
"""How LM Studio's 200 begins."""
_SOUGHT = re.compile(
    r"model|deployment|previous.?response|conversation|container|vector.?store"
    r"|\b(?!request\b)\w+\s+(?:with\s+)?id\b"
    r"|\"param\"\s*:\s*\"[^\"]",
    re.IGNORECASE,
)
"""What a request may name that is not there."""

_PLACE = r"(?:\btools|\binput)\W{1,4}\d{1,4}\b"
_NO = r"(?:invalid|unknown|unsupported|unexpected|unrecognized|not? (?:supported|allowed|valid|recognized))"
# Of a type, or the key "type" of the tool or item itself: what is inside has types, too.
_INSIDE = r"\W{1,6}(?:\w{0,40}(?:function|tool|param|item|message|call|output)\W{1,6})?"
_HAS = rf"(?:(?:has|is of) (?:an? )?{_NO} )?"
_MEDIUM = r"(?:audio|image|video|file)(?!\w*_(?:call|output))"
_KIND = (
    r"(?:(?:tool|item)(?:[ _]item)?[ _]types?\b"
    r"|(?<!audio )(?<!image )(?<!video )(?<!file )\binput(?:[ _]item)?[ _]types?\b"
    rf"(?!\W{{1,4}}(?:input_)?{_MEDIUM}))"
)
"""How a refusal names the type of one: "input type" is that of what a model can see, too."""
_TYPE = re.compile(
    rf"{_PLACE}{_INSIDE}{_HAS}type\b"
    rf"|{_PLACE}\W{{1,6}}input_schema\b[^;]{{0,40}}\brequired\b[^;]{{0,24}}\btype\W{{1,6}}\w+_\d{{8}}\b"
    r"|\boutput of tool calls? should be\b"
    rf"|\b{_NO} {_KIND}|\bunsupported custom tool\b"
    rf"|\b{_KIND}[^.;]{{0,60}}\b(?:{_NO}|must be)\b"
    r"|\btypes?\b\W{1,4}of (?:a )?(?:tool|item)s?\b[^.;]{0,40}\b(?:must|should|not|un\w+)\b"
    r"|\bonly\b\W{1,4}function\b\W{1,4}(?:type )?tools?\b"
    r"|\bunknown variant\W{1,4}(?:namespace|custom|additional_tools|local_shell|shell"
    r"|apply_patch|tool_search|web_search|compaction|item_reference|\w+_(?:call|output|trigger))\b"
    r"|\binput tag\W{1,4}(?!image|document|file|input_|adaptive)\w+\W{1,4}found using\W{1,4}type\b"
    r"|\bmessages\W{1,4}\d{1,4}\W{1,4}content\b[^{}]{0,400}\btype\b[^{}]{0,200}\binput\W{1,4}(?:thinking|tool_addition)\b"
    # The form of the whole input: no server says which item it is.
    r"|\bbody\W{1,6}input\W{1,6}(?:str\b|list\[union\b)"
    r"|\"invalid (?:input|type for 'input')\W{1,3}(?![^{}]{0,200}(?:policy|flagged))"
    r"[^{}]{0,80}\"param\"\W{1,3}input\""
    r"|\bfor chatcompletionrequest\b.{0,2000}\btype\W{1,4}input_"
    # Calls without their outputs, and outputs without their calls.
    r"|\bno tool output found for tool call\b|\bmissing field\W{1,2}call_id\b"
    r"|\bmust be followed by tool messages\b|\brole 'tool' must be a response\b"
    # Thoughts, which the translation remembers. Kimi's only words, also to new blocks of Messages.
    r"|\breasoning_text\b[^.;]{0,40}\bmust be passed back\b|\"message\"\W{1,4}invalid request error\""
    # The protocol, for this model.
    rf"|\bunsupported_api_for_model\b|\buse\b[^.;]{{0,24}}\b{_CHAT}\b[^.;]{{0,24}}\b(?:instead|endpoint|model)\b",
    re.IGNORECASE,
)
"""What refuses a type of tool, or of item, or the form that all of them have."""


def is_path_missing(status: int, body: bytes, path: str, model: str) -> bool:
    """Tell whether an answer says that the path of its request is not served.

    Args:
        status: The HTTP status.
        body: Its decoded body, or the beginning of it.
        path: The path of the request, which the answer may quote.
        model: The model that the request asks for.
    """
    if status == _OK:
        return body.startswith(_UNEXPECTED)
    words = body.decode(errors="replace").replace("\\/", "/")
    if status in REFUSED:
        return _TYPE.search(words.replace('\\"', '"'), 0, _LONG) is not None
    if status != _MISSING:
        return status == _NOT_ALLOWED
    if _CHAT in words or is_page(words):
        return True
    words = words.replace(path, "")
    return not (_SOUGHT.search(words) or (model and model in words))
