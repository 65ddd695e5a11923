"""Images and files in messages."""

from ...text.placeholder import placeholder
from ...wire.json_text import Json, as_object, as_string
from ..adaptation import (
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

_NAMES = {
    "image_url": "An image",
    "file": "A file",
    "input_audio": "A recording",
    "video_url": "A video",
}
"""What each part is, by its type."""
_NATIVE = {
    "image": "image_url",
    "input_image": "image_url",
    "document": "file",
    "input_file": "file",
}
"""Types of Messages and of Responses, and what chat calls them."""
_HOLDERS = ("content", "output")
"""Where a message has its parts, and the output of a tool."""
_TEXT_ONLY = refused("m is not a multimodal model")
_TEXT = {"type": "text", "text": "Look:"}
_IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
_SENTENCE = placeholder("An image")
_RESULT = {"type": "tool_result", "tool_use_id": "call_1"}
_BLOCK = {"type": "image", "source": {"type": "url", "url": "https://a.example/a"}}
_OUTPUT = {"type": "function_call_output", "call_id": "call_1"}
_TEXT_BEFORE = {"type": "input_text", "text": "Look:"}
_ITEM = {"type": "input_image", "image_url": "https://a.example/a"}
_NO_FILE = refused("Unknown part type: file")
_FILE = {"type": "file", "file": {"file_data": "data:application/pdf;base64,AAAA"}}


# An image or a file, which a model cannot read: a sentence says that it was there.
class AttachmentRefused(Adaptation):
    """Put a sentence in its place.

    An agent sends what its tool has read again with each request, so the conversation would
    end there. What asks for chat completions itself gets the refusal: it may have asked for
    nothing but the image. Of a document that is text, the text stays.
    """

    name = "attachment-refused"
    changes = "an image, a file -> a sentence that says so (requests of agents)"
    why = "Text models answer 400, also to each later request of an agent."
    key = "type"
    sent_as = (TRANSLATED, RESPONSES, MESSAGES)
    sources = (
        "https://github.com/anthropics/claude-code/issues/91112",
        "https://github.com/Alishahryar1/free-claude-code/issues/512",
    )
    examples = (
        RequestExample.of_messages(
            "an image",
            [{"role": "user", "content": [_TEXT, _IMAGE]}],
            [{"role": "user", "content": f"Look:\n{placeholder('An image')}"}],
            _TEXT_ONLY,
        ),
        RequestExample.of_messages(
            "a file alone is refused",
            [{"role": "user", "content": [_FILE, _IMAGE]}],
            [
                {
                    "role": "user",
                    "content": [
                        {"type": "text", "text": placeholder("A file")},
                        _IMAGE,
                    ],
                }
            ],
            _NO_FILE,
        ),
        RequestExample.of_messages(
            "what a tool has read, in Messages",
            [{"role": "user", "content": [{**_RESULT, "content": [_BLOCK]}]}],
            [{"role": "user", "content": [{**_RESULT, "content": _SENTENCE}]}],
            _TEXT_ONLY,
        ),
        RequestExample(
            "the same in Responses",
            {"input": [{**_OUTPUT, "output": [_TEXT_BEFORE, _ITEM]}]},
            {"input": [{**_OUTPUT, "output": f"Look:\n{_SENTENCE}"}]},
            _TEXT_ONLY,
        ),
        RequestExample.untouched("text", {"messages": HI}, _TEXT_ONLY),
    )

    def edit(self, body: Body) -> list[Edit]:
        """Put a sentence in the place of each."""
        made = replaced(body, "messages", self._without_each(body.get("messages")))
        return made + replaced(body, "input", self._without_each(body.get("input")))

    def _without_each(self, said: Json) -> Json:
        return [*map(self._without, said)] if isinstance(said, list) else said

    def _without(self, said: Json) -> Json:
        """A message, or the result of a tool, without what cannot be read."""
        found = as_object(said)
        made = {key: self._readable(found[key]) for key in _HOLDERS if key in found}
        return {**found, **made} if made else said

    def _readable(self, content: Json) -> Json:
        if not isinstance(content, list):
            return content
        parts = [self._part(each) for each in content]
        texts = [as_object(each).get("text") for each in parts]
        said = [each for each in texts if isinstance(each, str)]
        is_text = parts != content and len(said) == len(parts)
        return "\n".join(said) if is_text else parts

    def _part(self, part: Json) -> Json:
        given = as_object(part)
        kind = as_string(given.get("type"))
        if kind == "tool_result":
            return self._without(part)
        known = _NATIVE.get(kind, kind)
        if known not in _NAMES or self.value not in ("", known):
            return part
        source = as_object(given.get("source"))
        is_text = source.get("type") == "text"
        text = as_string(source.get("data")) if is_text else placeholder(_NAMES[known])
        is_item = kind in ("input_image", "input_file")
        return {"type": "input_text" if is_item else "text", "text": text}
