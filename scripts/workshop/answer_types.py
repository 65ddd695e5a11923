"""The types of providers' libraries as TypedDicts.

This runs in an environment that has the library (tests/clients), and imports nothing else but the
standard library. Called with the name of a source, it prints the file for it; called with
a model of it, too, it reads a list of values and prints for each whether it validates.
"""

import importlib
import json
import keyword
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split())


@dataclass(frozen=True)
class Source:
    """What one file is written from.

    Attributes:
        path: Where it is, from the project's root: a module, or the JSON that `judge.typed` reads.
        client: Whose lock pins the library (tests/clients/runners).
        title: What it holds.
        roots: Models and literals to begin with, by their module.
        parts: Models within these to write, too; () means all of them. Any other is written
            as `dict[str, Any]`, and is left out of a union with one of these.
        loose: Types of fields in place of the library's.
    """

    path: str
    client: str
    title: str
    roots: Mapping[str, tuple[str, ...]]
    parts: tuple[str, ...] = ()
    loose: Mapping[str, str] = field(default_factory=dict)


SOURCES = {
    "chat": Source(
        "addon/llm_normalize/conformance/openai_types.py",
        "openai_3",
        "A chat completion, and a chunk of one",
        {"openai.types.chat": ("ChatCompletionChunk", "ChatCompletion")},
    ),
    "responses": Source(
        "tests/judge/responses.json",
        "openai_3",
        "A response, and the events of a stream",
        {
            "openai.types.responses": _names(
                """
                ResponseCreatedEvent ResponseInProgressEvent ResponseCompletedEvent
                ResponseIncompleteEvent ResponseFailedEvent ResponseOutputItemAddedEvent
                ResponseOutputItemDoneEvent ResponseContentPartAddedEvent
                ResponseContentPartDoneEvent ResponseReasoningSummaryPartAddedEvent
                ResponseReasoningSummaryPartDoneEvent
                ResponseReasoningSummaryTextDeltaEvent
                ResponseReasoningSummaryTextDoneEvent ResponseTextDeltaEvent
                ResponseTextDoneEvent ResponseOutputTextAnnotationAddedEvent
                ResponseRefusalDeltaEvent ResponseRefusalDoneEvent
                ResponseFunctionCallArgumentsDeltaEvent
                ResponseFunctionCallArgumentsDoneEvent
                ResponseCustomToolCallInputDeltaEvent
                ResponseCustomToolCallInputDoneEvent
                """
            )
        },
        _names(
            """
            Response ResponseError IncompleteDetails ResponseTextConfig ResponseUsage
            InputTokensDetails OutputTokensDetails ResponseOutputMessage
            ResponseOutputText ResponseOutputRefusal AnnotationURLCitation Logprob
            LogprobTopLogprob ResponseReasoningItem Summary Part
            ResponseFunctionToolCall ResponseCustomToolCall
            """
        ),
        {
            # Codex acts on codes that the type does not have: `context_length_exceeded`.
            "ResponseError.code": "str",
            # What the request had, in forms that no answer has.
            "Response.instructions": "str | list[dict[str, Any]] | None",
        },
    ),
    "messages": Source(
        "tests/judge/messages.json",
        "anthropic_2",
        "A message, and the events of a stream",
        {
            "anthropic.types": _names(
                """
                RawMessageStartEvent RawContentBlockStartEvent
                RawContentBlockDeltaEvent RawContentBlockStopEvent RawMessageDeltaEvent
                RawMessageStopEvent
                """
            ),
            "anthropic.types.shared.error_type": ("ErrorType",),
        },
        _names(
            """
            Message TextBlock ThinkingBlock ToolUseBlock TextDelta ThinkingDelta
            SignatureDelta InputJSONDelta Delta Usage MessageDeltaUsage
            """
        ),
    ),
}


class _Writer:
    """Writes models as classes, each behind those that it names."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.classes: dict[str, dict[str, str]] = {}  # the fields of each
        roots = [name for names in source.roots.values() for name in names]
        self.written = {*source.parts, *roots} if source.parts else None

    def text(self) -> str:
        """Return the text of the file; of a module, which ruff has yet to format."""
        roots: dict[str, str] = {}
        for path, names in self.source.roots.items():
            module = importlib.import_module(path)
            roots |= {name: self.spelled(getattr(module, name)) for name in names}
        library = next(iter(self.source.roots)).partition(".")[0]
        title = f"{self.source.title}: written from the types of {library} {version(library)}."
        by = "`python3 scripts/test.py --clients -k types --update-types` writes this file."
        if self.source.path.endswith(".json"):
            named = {name: kind for name, kind in roots.items() if name != kind}
            found = {"about": f"{title} {by}", "types": self.classes | named}
            return json.dumps(found, indent=2)
        text = "\n\n\n".join(map(_class, self.classes, self.classes.values()))
        used = [name for name in ("Any", "Literal", "NotRequired") if name in text]
        imported = f"from typing import {', '.join(used)}, TypedDict"
        return f'"""{title}\n\n{by}\n"""\n\n{imported}\n\n\n{text}'

    def spelled(self, kind: Any) -> str:
        """Return *kind* as an annotation, and write its models."""
        origin, inner = get_origin(kind), get_args(kind)
        if origin is Annotated:
            return self.spelled(inner[0])
        if origin is Literal:
            return f"Literal[{', '.join(map(json.dumps, inner))}]"
        if origin in (list, dict):
            return f"{origin.__name__}[{', '.join(map(self.spelled, inner))}]"
        if origin in (Union, UnionType):
            return self._union([*_members(kind)])
        if _is_model(kind):
            return self._model(kind)
        return {NoneType: "None", object: "Any"}.get(kind) or str(kind.__name__)

    def _union(self, kinds: list[Any]) -> str:
        models = [*filter(_is_model, kinds)]
        known = [*filter(self._is_written, models)] or models
        left = [kind for kind in kinds if kind in known or not _is_model(kind)]
        if str in left:  # the words beside it are examples
            left = [kind for kind in left if not _is_literal(kind)]
        found = dict.fromkeys(map(self.spelled, left))
        return " | ".join(sorted(found, key="None".__eq__))

    def _is_written(self, model: Any) -> bool:
        return self.written is None or model.__name__ in self.written

    def _model(self, model: Any) -> str:
        """Return the name of the class for *model*: one for all that have the same fields."""
        if not self._is_written(model):
            return "dict[str, Any]"
        name = str(model.__name__)
        fields = {
            found.alias or key: self._field(f"{name}.{key}", found)
            for key, found in model.model_fields.items()
        }
        for known, same in self.classes.items():
            if same == fields:
                return known
        if name in self.classes:
            name = model.__module__.rpartition(".")[2].title().replace("_", "") + name
        self.classes[name] = fields
        return name

    def _field(self, path: str, found: Any) -> str:
        kind = self.source.loose.get(path) or self.spelled(found.annotation)
        return kind if found.is_required() else f"NotRequired[{kind}]"


def _members(kind: Any) -> Iterator[Any]:
    """Yield what a union consists of, whatever unions it is made of."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Annotated, Union, UnionType):
        for each in inner[:1] if origin is Annotated else inner:
            yield from _members(each)
    else:
        yield kind


def _is_model(kind: Any) -> bool:
    return hasattr(kind, "model_fields")


def _is_literal(kind: Any) -> bool:
    return get_origin(kind) is Literal


def _class(name: str, fields: dict[str, str]) -> str:
    if any(map(keyword.iskeyword, fields)):
        items = [f"{json.dumps(key)}: {kind}" for key, kind in fields.items()]
        return f"{name} = TypedDict({json.dumps(name)}, {{{', '.join(items)}}})"
    lines = [f"    {key}: {kind}" for key, kind in fields.items()]
    return "\n".join([f"class {name}(TypedDict):", *lines])


def _takes(model: Any, value: Any) -> bool:
    """Tell whether *value* validates, nothing coerced."""
    try:
        model.model_validate_json(json.dumps(value), strict=True)
    except ValueError:
        return False
    return True


def main(name: str, model: str = "") -> None:
    """Print what is asked for."""
    if not model:
        print(_Writer(SOURCES[name]).text())
        return
    library = importlib.import_module(next(iter(SOURCES[name].roots)))
    found = [_takes(getattr(library, model), value) for value in json.load(sys.stdin)]
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
