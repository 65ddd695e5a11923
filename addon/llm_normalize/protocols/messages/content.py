"""Content blocks as parts of a chat message."""

from collections.abc import Collection

from ...text.placeholder import placeholder
from ...wire.json_text import Json, as_object, as_string, dumps
from ..protocol import JsonObject, UntranslatableError

KNOWN = {
    "text": {"type", "text"},
    "image": {"type", "source"},
    "document": {"type", "source", "title", "context"},
    "search_result": {"type", "source", "title", "content"},
    "tool_reference": {"type", "tool_name"},
    "compaction": {"type", "content"},
}
"""What is read of a block, by its type."""
_SHOWN = 16 * 1024
"""Characters of one of another type: what is longer is no text, but a file."""


class Dropped:
    """Paths of what is dropped, each once, without places in lists: `tools[].strict`."""

    def __init__(self) -> None:
        self._paths: dict[str, None] = {}

    def add(self, path: str) -> None:
        """Record what is at *path*."""
        self._paths[path] = None

    def beside(self, path: str, value: JsonObject, known: Collection[str]) -> None:
        """Record all of *value* but the *known* keys, and what is null."""
        for key, each in value.items():
            if key not in known and each is not None:
                self.add(f"{path}.{key}" if path else key)

    @property
    def paths(self) -> tuple[str, ...]:
        """What was dropped, in order."""
        return tuple(self._paths)


def blocks_of(content: Json, path: str) -> list[JsonObject]:
    """Return *content* as blocks: a string is a text.

    Raises:
        UntranslatableError: It is neither.
    """
    if content is None:
        return []
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if isinstance(content, list) and all(isinstance(each, dict) for each in content):
        return content
    raise UntranslatableError(f"{path}: a string or a list of blocks is needed", path)


def parts_of(block: JsonObject, path: str, dropped: Dropped) -> list[JsonObject]:
    """The parts of a chat message for a *block*: texts, images and files.

    One of a type that nobody knows is text, as JSON.

    Args:
        block: The block.
        path: Where it is.
        dropped: Gets what has no place in chat.

    Raises:
        UntranslatableError: It does not say what it holds.
    """
    kind = str(block.get("type"))
    if kind not in KNOWN:  # tools return anything
        return _unknown(block, kind, path, dropped)
    dropped.beside(path, block, KNOWN[kind])
    if kind == "image":
        return [_image(block.get("source"), f"{path}.source", dropped)]
    if kind == "document":
        return _document(block, path, dropped)
    if kind == "search_result":
        lines = [block.get("title"), block.get("source")]
        inner = blocks_of(block.get("content"), f"{path}.content")
        return _text(*lines, *[each.get("text") for each in inner])
    if kind == "tool_reference":  # what a search for tools has found
        return _text(f"The tool {block.get('tool_name')} is available.")
    return _text(block.get("text" if kind == "text" else "content"))


def _unknown(
    block: JsonObject, kind: str, path: str, dropped: Dropped
) -> list[JsonObject]:
    is_of_chat = kind in ("file", "input_audio") and as_object(block.get(kind))
    if kind == "image_url" or is_of_chat:  # chat's may stand beside Anthropic's
        return [block]
    shown = {key: each for key, each in block.items() if key != "cache_control"}
    text = dumps(shown).decode()
    if len(text) > _SHOWN:
        dropped.add(f"{path}.{kind}")
        text = placeholder(f"A block of the type {kind}")
    return _text(text)


def _text(*lines: Json) -> list[JsonObject]:
    text = "\n".join(each for each in lines if isinstance(each, str) and each)
    return [{"type": "text", "text": text}] if text else []


def _image(source: Json, path: str, dropped: Dropped) -> JsonObject:
    url = _url(source)
    if url is None:
        return _not_read(source, path, "An image", dropped)
    return {"type": "image_url", "image_url": {"url": url}}


def _document(block: JsonObject, path: str, dropped: Dropped) -> list[JsonObject]:
    source = block.get("source")
    given = as_object(source)
    kind = given.get("type")
    about = [block.get("title"), block.get("context")]
    if kind == "text":
        return _text(*about, given.get("data"))
    if kind == "content":
        at = f"{path}.source.content"
        inner = blocks_of(given.get("content"), at)
        found = [part for each in inner for part in parts_of(each, f"{at}[]", dropped)]
        return [*_text(*about), *found]
    url = _url(source)
    if kind != "base64" or url is None:  # chat has no place for a file's address
        sentence = _not_read(source, f"{path}.source", "A file", dropped)
        return [*_text(*about), sentence]
    title = block.get("title")
    name = title if isinstance(title, str) and title else "document.pdf"
    file = {"filename": name, "file_data": url}
    return [*_text(block.get("context")), {"type": "file", "file": file}]


def _url(source: Json) -> str | None:
    given = as_object(source)
    if given.get("type") == "base64" and isinstance(given.get("data"), str):
        return f"data:{given.get('media_type')};base64,{given['data']}"
    url = given.get("url") if given.get("type") == "url" else None
    return url if isinstance(url, str) else None


def _not_read(source: Json, path: str, what: str, dropped: Dropped) -> JsonObject:
    """Return a sentence in the place of what is named by an id or an address."""
    given = as_object(source)
    id_, url = (as_string(given.get(key)) for key in ("file_id", "url"))
    if not id_ and not url:
        words = f"{path}: the data, the address or the id of a file is needed"
        raise UntranslatableError(words, path)
    dropped.add(f"{path}.{'url' if url else 'file_id'}")
    return {"type": "text", "text": placeholder(what, url)}


def joined(parts: list[JsonObject]) -> Json:
    """Return the content of a message: a string, unless there is more than text.

    Not every provider takes a list, and each part is a line, as where they are put together
    for one that does not (`request/adaptations/host_message_fields.py`).
    """
    if all(part["type"] == "text" for part in parts):
        return "\n".join(part["text"] for part in parts)
    return parts
