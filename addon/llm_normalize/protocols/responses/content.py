"""The content of messages, of tools' outputs and of reasoning, as chat has it."""

from base64 import b64decode, b64encode

from ...text.placeholder import placeholder
from ...wire.json_text import Json, as_list, as_object, as_string, dumps, objects_in
from ..protocol import JsonObject, UntranslatableError

_TEXTS = ("input_text", "output_text", "text", "summary_text")
_IMAGES = ("input_image", "computer_screenshot")
_DETAILS = ("auto", "low", "high")
_ID = "file_id"
_CIPHER = "gAAAAA"
"""How OpenAI's encrypted texts begin."""
_UNREADABLE = "(A text was here that only OpenAI can read.)"


def text_of(content: Json, path: str, dropped: list[str]) -> str:
    """Return a content that can only be text, as the system's."""
    found = text_or_parts(content, path, dropped)
    if not isinstance(found, str):
        raise UntranslatableError("Only text has a place in this message.", path)
    return found


def text_or_parts(
    content: Json, path: str, dropped: list[str], between: str = ""
) -> str | list[JsonObject]:
    """Return a content as one text, if it can be: many a provider knows no parts.

    Args:
        content: The content.
        path: Where it is.
        dropped: As for `parts_of`.
        between: What stands between its parts then.
    """
    parts = parts_of(content, path, dropped)
    is_text = all(part["type"] == "text" for part in parts)
    return between.join(part["text"] for part in parts) if is_text else parts


def words_of(content: Json, path: str, dropped: list[str]) -> str:
    """Return an assistant's words: a model goes on from them, no matter who wrote them."""
    if isinstance(content, list):
        known = (*_TEXTS, "refusal")
        content = [each for each in objects_in(content) if each.get("type") in known]
    return text_of(content, path, dropped)


def output_of(
    output: Json, path: str, dropped: list[str]
) -> tuple[str, list[JsonObject]]:
    """Return the text of a tool's output, and what else is in it: chat wants it apart."""
    if isinstance(output, dict) and output.get("type") in _IMAGES:
        output = [output]
    if isinstance(output, list) and all(map(_is_part, output)):
        parts = [
            _part_or_text(part, f"{path}[{at}]", dropped)
            for at, part in enumerate(output)
        ]
        texts = [part["text"] for part in parts if part["type"] == "text"]
        return "\n".join(texts), [part for part in parts if part["type"] != "text"]
    return as_text(output), []


def as_text(value: Json) -> str:
    """Return *value*, as JSON unless it is text; empty for null."""
    if value is None:
        return ""
    return value if isinstance(value, str) else dumps(value).decode()


def parts_of(content: Json, path: str, dropped: list[str]) -> list[JsonObject]:
    """Return the parts of a content, each as chat has it.

    Args:
        content: The content.
        path: Where it is.
        dropped: Gets where a sentence stands for what only OpenAI can read.

    Raises:
        UntranslatableError: Chat has no place for one.
    """
    if content is None:
        return []
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if not isinstance(content, list):
        raise UntranslatableError(
            "The content has to be text or a list of parts.", path
        )
    return [_part(part, f"{path}[{at}]", dropped) for at, part in enumerate(content)]


def _is_part(part: Json) -> bool:
    return isinstance(part, dict) and "type" in part


def _part_or_text(part: Json, path: str, dropped: list[str]) -> JsonObject:
    """Return a part of an output; as JSON if it is none: tools return lists of anything."""
    try:
        return _part(part, path, dropped)
    except UntranslatableError:
        return {"type": "text", "text": as_text(part)}


def _part(part: Json, path: str, dropped: list[str]) -> JsonObject:
    kind = part.get("type") if isinstance(part, dict) else None
    if kind in _TEXTS:
        return _text(part.get("text"), f"{path}.text")
    if kind == "refusal":
        return _text(part.get("refusal"), f"{path}.refusal")
    if kind == "encrypted_content":
        return _deciphered(part.get(kind), f"{path}.{kind}", dropped)
    if kind in _IMAGES:
        return _image(part, path, dropped)
    if kind == "input_file":
        return _file(part, path, dropped)
    if kind == "input_audio":
        return {"type": kind, kind: part.get(kind)}
    raise UntranslatableError(
        f"Chat completions have no place for a part of type {kind!r}.", f"{path}.type"
    )


def _text(text: Json, path: str) -> JsonObject:
    if not isinstance(text, str):
        raise UntranslatableError("Text was expected here.", path)
    return {"type": "text", "text": text}


def _deciphered(text: Json, path: str, dropped: list[str]) -> JsonObject:
    """The text that one agent wrote to another.

    OpenAI encrypts it. What the model of another provider wrote comes back as it was.
    """
    if is_encrypted(text):
        return _instead(_UNREADABLE, path, dropped)
    return _text(text, path)


def _instead(sentence: str, path: str, dropped: list[str]) -> JsonObject:
    """Return a sentence in the place of what is at *path*."""
    dropped.append(path)
    return _text(sentence, path)


def is_encrypted(text: Json) -> bool:
    """Tell whether OpenAI has encrypted *text*."""
    return isinstance(text, str) and text.startswith(_CIPHER)


def _image(part: JsonObject, path: str, dropped: list[str]) -> JsonObject:
    url = part.get("image_url")
    if url is None and part.get(_ID):
        return _instead(placeholder("An image"), f"{path}.{_ID}", dropped)
    if not isinstance(url, str):
        raise UntranslatableError(
            "Chat completions take an image by its URL or its data.",
            f"{path}.image_url",
        )
    image = {"url": url}
    detail = part.get("detail")
    if detail is not None:
        image["detail"] = detail if detail in _DETAILS else "high"
    return {"type": "image_url", "image_url": image}


def _file(part: JsonObject, path: str, dropped: list[str]) -> JsonObject:
    keys = ("filename", "file_data", _ID)
    file = {key: part[key] for key in keys if part.get(key) is not None}
    if not file.keys() & {"file_data", _ID}:
        if url := as_string(part.get("file_url")):
            return _instead(placeholder("A file", url), f"{path}.file_url", dropped)
        raise UntranslatableError(
            "Chat completions take a file by its data or its id.", f"{path}.file_data"
        )
    return {"type": "file", "file": file}


_PREFIX = "llm-normalize:base64:"


def packed(text: str) -> str:
    """Return the text of a reasoning item for its `encrypted_content`.

    Some clients send back nothing of such an item but that. So the text is there too, in
    letters that survive any client. It is not encrypted: anyone can read it, the client's user
    above all, who has seen it as the summary.
    """
    return _PREFIX + b64encode(text.encode(errors="surrogatepass")).decode()


def reasoning_of(item: dict[str, Json]) -> str:
    """Return the text of a reasoning *item*; empty for none that can be read."""
    text = unpacked(item.get("encrypted_content"))
    return text or _texts(item.get("content")) or _texts(item.get("summary"))


def unpacked(given: Json) -> str:
    """Return the text in an `encrypted_content`; empty for one of somebody else's."""
    text = as_string(given)
    if not text.startswith(_PREFIX):
        return ""
    try:
        data = b64decode(text.removeprefix(_PREFIX), validate=True)
        return data.decode(errors="surrogatepass")
    except ValueError:
        return ""


def _texts(parts: Json) -> str:
    texts = (as_string(as_object(each).get("text")) for each in as_list(parts))
    return "\n\n".join(filter(None, texts))
