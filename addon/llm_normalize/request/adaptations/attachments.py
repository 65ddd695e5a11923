"""Images and files in messages, and half a character."""

from ...text.placeholder import placeholder
from ...wire.json_text import Json, as_object, as_string, dumps, value_in
from ..adaptation import (
    EVERY_FORM,
    HI,
    MESSAGES,
    RESPONSES,
    TRANSLATED,
    Adaptation,
    Body,
    Edit,
    RequestExample,
    refused,
    replaced,
)
from ..message_forms import HALF, joined_texts

_NAMES = {
    **dict.fromkeys(("image_url", "image", "input_image"), "An image"),
    **dict.fromkeys(("file", "document", "input_file"), "A file"),
    "input_audio": "A recording",
    "video_url": "A video",
}
"""What each part is, by its type."""
_OF_RESPONSES = ("input_image", "input_file")
_INNER = ("content", "output")
"""Where messages, and results of tools, have their parts."""
_TEXT_ONLY = refused("m is not a multimodal model")
_TEXT = {"type": "text", "text": "Look:"}
_IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}


# An image or a file, which a model cannot read: a sentence says that it was there.
class AttachmentRefused(Adaptation):
    """Put a sentence in its place.

    An agent sends what its tool has read again with each request, so the conversation would
    end there. What asks for chat completions itself gets the refusal: it may have asked for
    nothing but the image.
    """

    name = "attachment-refused"
    changes = "an image, a file -> a sentence that says so (Messages and Responses)"
    why = "Text models answer 400, also to each later request of an agent."
    sent_as = (TRANSLATED, RESPONSES, MESSAGES)
    sources = (
        "https://github.com/anthropics/claude-code/issues/91112",
        "https://github.com/Alishahryar1/free-claude-code/issues/512",
        "https://github.com/deepseek-ai/DeepSeek-V3/issues/1026",
    )
    examples = (
        RequestExample.of_messages(
            "an image",
            [{"role": "user", "content": [_TEXT, _IMAGE]}],
            [{"role": "user", "content": f"Look:\n{placeholder('An image')}"}],
            _TEXT_ONLY,
        ),
        RequestExample.untouched("text", {"messages": HI}, _TEXT_ONLY),
    )

    def edit(self, body: Body) -> list[Edit]:
        """Put a sentence in the place of each."""
        made = {key: self._without(body.get(key)) for key in ("messages", "input")}
        return [edit for key in made for edit in replaced(body, key, made[key])]

    def _without(self, value: Json) -> Json:
        if isinstance(value, list):
            parts = [self._without(each) for each in value]
            # A mark for a cache counts where the provider reads it.
            is_marked = any("cache_control" in as_object(each) for each in parts)
            text = None if parts == value or is_marked else joined_texts(parts)
            return parts if text is None else text
        if not isinstance(value, dict):
            return value
        kind = as_string(value.get("type"))
        name = _NAMES.get(kind)
        if name is not None and _NAMES.get(self.value, name) == name:
            text_kind = "input_text" if kind in _OF_RESPONSES else "text"
            mark = {key: value[key] for key in ("cache_control",) if key in value}
            return {"type": text_kind, "text": placeholder(name), **mark}
        inner = {key: self._without(value[key]) for key in _INNER if key in value}
        return {**value, **inner}


_CUT = refused("messages[1].content: lone leading surrogate in hex escape")


# Half a character, where a client has cut a text within an emoji.
class CharacterHalved(Adaptation):
    """Put the sign for what cannot be read in its place."""

    name = "character-halved"
    changes = "half a character, `\\ud83d` -> U+FFFD"
    why = "DeepSeek, OpenAI and Anthropic answer 400 to each request of the session."
    sent_as = EVERY_FORM
    sources = (
        "https://github.com/anomalyco/opencode/issues/14630",
        "https://github.com/Zoo-Code-Org/Zoo-Code/issues/461",
        "https://github.com/anthropics/claude-code/issues/3277",
    )
    examples = (
        RequestExample.of_fields(
            "a half", {"user": "a\ud83d"}, {"user": "a\ufffd"}, _CUT
        ),
        RequestExample.untouched("a whole one", {"user": "a\U0001f600"}, _CUT),
    )

    def edit(self, body: Body) -> list[Edit]:
        """Put it there."""
        text = dumps(body)
        if b"\\ud" not in text:
            return []
        made = value_in(HALF.sub(b"\\1\xef\xbf\xbd", text), body)
        return [edit for key in made for edit in replaced(body, key, made[key])]
