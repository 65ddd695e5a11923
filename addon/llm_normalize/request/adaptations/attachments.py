"""Images and files in messages."""

from ...text.placeholder import placeholder
from ...wire.json_text import Json, as_list, as_object, as_string
from ..adaptation import (
    HI,
    TRANSLATED,
    Adaptation,
    Body,
    Edit,
    RequestExample,
    refused,
    replaced,
)
from ..message_forms import joined_texts, with_each_message

_NAMES = {
    "image_url": "An image",
    "file": "A file",
    "input_audio": "A recording",
    "video_url": "A video",
}
"""What each part is, by its type."""
_TEXT_ONLY = refused("m is not a multimodal model")
_TEXT = {"type": "text", "text": "Look:"}
_IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
_NO_FILE = refused("Unknown part type: file")
_FILE = {"type": "file", "file": {"file_data": "data:application/pdf;base64,AAAA"}}


# An image or a file, which a model cannot read: a sentence says that it was there.
class AttachmentRefused(Adaptation):
    """Put a sentence in its place.

    An agent sends what its tool has read again with each request, so the conversation would
    end there. What asks for chat completions itself gets the refusal: it may have asked for
    nothing but the image.
    """

    name = "attachment-refused"
    changes = "an image, a file -> a sentence that says so (translated requests)"
    why = "Text models answer 400, also to each later request of an agent."
    sent_as = (TRANSLATED,)
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
        RequestExample.untouched("text", {"messages": HI}, _TEXT_ONLY),
    )

    def edit(self, body: Body) -> list[Edit]:
        """Put a sentence in the place of each."""
        return replaced(body, "messages", with_each_message(body, self._without))

    def _without(self, message: Json) -> Json:
        said = as_object(message)
        content = as_list(said.get("content"))
        parts = [self._part(each) for each in content]
        if parts == content:
            return message
        text = joined_texts(parts)
        return {**said, "content": parts if text is None else text}

    def _part(self, part: Json) -> Json:
        kind = as_string(as_object(part).get("type"))
        name = _NAMES.get(kind)
        if name is None or self.value not in ("", kind):
            return part
        return {"type": "text", "text": placeholder(name)}
