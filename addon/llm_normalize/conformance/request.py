"""What a request asked for, as far as the form of its answer depends on it."""

from dataclasses import dataclass

from .json_values import as_dict, as_int


@dataclass(frozen=True)
class Request:
    """What the request asked for, as far as the form of the answer depends on it.

    `include_usage` is None when that is unknown: usage is then accepted in either
    form and is not demanded. Set it to None as well (`dataclasses.replace`) for a
    provider that sent no usage although it was asked to, since figures are never
    invented. `tools` and `n` change no rule; they tell tests what was asked.
    """

    stream: bool = True
    include_usage: bool | None = False
    tools: bool = False
    forced_tool: bool = False
    n: int = 1

    @classmethod
    def from_body(cls, body: dict[str, object] | None, *, stream: bool) -> "Request":
        """Read a request's JSON body; None stands for one that was not recorded."""
        if body is None:
            return cls(stream=stream, include_usage=None)
        choice = as_dict(body.get("tool_choice"))
        named = as_dict(choice.get("function")) or as_dict(choice.get("custom"))
        asked = as_dict(body.get("stream_options")).get("include_usage") is True
        return cls(
            stream=stream,
            include_usage=asked,
            tools=bool(body.get("tools")),
            forced_tool=bool(named.get("name")),
            n=as_int(body.get("n")) or 1,
        )
