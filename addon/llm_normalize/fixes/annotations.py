"""Annotations of a message."""

from ..chat.chunks.chunk import Chunk, in_messages
from ..repair.fix import HI, Example, Fix, completion
from ..wire.json_text import Json, Number

_LINK = {"url": "https://acme.example", "title": ""}
_CITED = {**_LINK, "start_index": 0, "end_index": 0}
_VALID = {"type": "url_citation", "url_citation": _CITED}
_FILE = {"type": "file", "file": {"name": "a.pdf"}}


# Annotations of a message that are not a whole `url_citation`.
class AnnotationForeign(Fix):
    """Complete citations; annotations of other kinds go to `annotations_other`."""

    name = "annotation-foreign"
    changes = "`annotations[]` of other kinds -> beside it; citations completed"
    why = "Strict types know one kind of annotation, and validate the whole answer."
    providers = ("OpenRouter (files)", "Perplexity behind gateways")
    sources = (
        "https://github.com/pydantic/pydantic-ai/issues/3657",
        "https://github.com/BerriAI/litellm/issues/15098",
        "https://platform.openai.com/docs/api-reference/chat/object",
    )
    examples = (
        Example.of_message(
            "file",
            {**HI, "annotations": [_FILE, _VALID]},
            {**HI, "annotations": [_VALID], "annotations_other": [_FILE]},
        ),
        Example.of_message(
            "flat",
            {**HI, "annotations": [{"type": "url_citation", **_LINK}]},
            {**HI, "annotations": [_VALID]},
        ),
        Example.untouched(
            "more beside it",
            [completion({**HI, "annotations": [{**_VALID, "snippet": "Tea"}]})],
            kind="body",
        ),
    )

    def body(self, body: Chunk) -> bool:
        """Sort and complete the annotations."""
        return in_messages(body, _sort)


def _sort(message: Chunk) -> bool:
    given = message.get("annotations")
    if given is None:
        return False
    found = given if isinstance(given, list) else [given]
    cited = [_completed(each) for each in found]
    remaining = [each for each in cited if each]
    others = [each for each, is_valid in zip(found, cited, strict=True) if not is_valid]
    if remaining == given:
        return False
    message["annotations"] = remaining
    if others:
        message["annotations_other"] = others
    return True


def _completed(given: Json) -> Chunk | None:
    if not isinstance(given, dict) or given.get("type") != "url_citation":
        return None
    link = given.get("url_citation", given)
    if not isinstance(link, dict) or not isinstance(link.get("url"), str):
        return None
    cited = {key: each for key, each in link.items() if key != "type"}
    title = cited.get("title")
    cited["title"] = title if isinstance(title, str) else ""
    for key in ("start_index", "end_index"):
        at = cited.get(key)
        text = at.text if isinstance(at, Number) else "0"
        cited[key] = at if type(at) is int else int(float(text))
    rest = given if "url_citation" in given else {"type": "url_citation"}
    return {**rest, "url_citation": cited}
