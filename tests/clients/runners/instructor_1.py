# mypy: ignore-errors
# The library is not in the project's environment.
"""instructor: an answer as an object, taken from a tool call."""

import re

import instructor
import openai_readers
import serve
from instructor import Mode
from instructor.core import InstructorRetryException
from pydantic import BaseModel, create_model
from serve import Json, client

TYPES = {"string": str, "integer": int, "number": float, "boolean": bool}


def model_of(tool: Json) -> type[BaseModel]:
    """Return the object that the arguments of *tool* describe."""
    function = tool["function"]
    fields = {
        name: (TYPES[schema["type"]], ...)
        for name, schema in function["parameters"]["properties"].items()
    }
    return create_model(function["name"], __doc__=function["description"], **fields)


@client("instructor")
def create(url: str, request: Json, report: Json) -> None:
    """TOOLS mode: create(), create_partial(); no response_model without tools."""
    outcome, events = report["outcome"], report["events"]
    asking = instructor.from_openai(openai_readers.at(url), mode=Mode.TOOLS)
    if "tools" not in request:
        answer = asking.create(response_model=None, **request)
        openai_readers.note_answer(answer, request, report)
        return
    # It makes the tool from the model, and names it in tool_choice.
    more = {
        name: request[name]
        for name in request
        if name not in ("stream", "tools", "tool_choice")
    }
    asked = {"response_model": model_of(request["tools"][0]), "max_retries": 0, **more}
    try:
        if not request.get("stream"):
            outcome["object"] = asking.create(**asked).model_dump()
            return
        for partial in asking.create_partial(**asked):
            outcome["object"] = partial.model_dump()
            events.append(outcome["object"])
    except InstructorRetryException as error:
        cause = error.__cause__
        outcome["cause"] = [type(cause).__name__, serve.words_of(cause)]
        words = re.sub(" at 0x[0-9a-f]+", "", str(error))  # where a stream is in memory
        outcome["error"] = [type(error).__name__, words]


if __name__ == "__main__":
    serve.main()
