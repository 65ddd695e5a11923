# mypy: ignore-errors
# The library is not in the project's environment.
"""The library of the command-line tool llm."""

import os
import tempfile

os.environ["LLM_USER_PATH"] = tempfile.gettempdir()  # nobody's keys and plugins

import llm
import openai
import openai_readers
import serve
from llm.default_plugins.openai_models import Chat
from serve import Json, client

MADE_UP = "tc_"  # what the ids begin with that it gives to calls without one


class Model(Chat):
    """A chat model whose requests are not repeated."""

    needs_key = None

    def get_client(self, key: str | None, *, async_: bool = False) -> openai.OpenAI:
        """Return the SDK, set up once."""
        return openai_readers.at(self.api_base)


def id_of(call: str | None) -> str | None:
    """Return the id of a call, if it came from the provider."""
    return "made up" if call and call.startswith(MADE_UP) else call


@client("llm")
def prompt(url: str, request: Json, report: Json) -> None:
    """prompt(), its stream of events; it always asks for usage."""
    outcome, events = report["outcome"], report["events"]
    model = Model(request["model"], api_base=url, supports_tools=True)
    tools = [
        llm.Tool(
            name=tool["function"]["name"],
            description=tool["function"]["description"],
            input_schema=tool["function"]["parameters"],
        )
        for tool in request.get("tools", [])
    ]
    said = {each["role"]: each["content"] for each in request["messages"]}
    response = model.prompt(
        said["user"],
        system=said.get("system"),
        tools=tools,
        stream=request.get("stream", False),
    )
    outcome["text"] = ""
    for event in response.stream_events():
        events.append([event.type, event.chunk, id_of(event.tool_call_id)])
        if event.type == "text":
            outcome["text"] += event.chunk
    outcome["calls"] = [
        [id_of(call.tool_call_id), call.name, call.arguments]
        for call in response.tool_calls()
    ]
    outcome["usage"] = [response.input_tokens, response.output_tokens]
    outcome["details"] = response.token_details
    outcome["json"] = response.response_json


if __name__ == "__main__":
    serve.main()
