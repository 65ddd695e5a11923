# mypy: ignore-errors
# LangChain is not in the project's environment.
"""LangChain's model for OpenAI."""

import langchain_readers as readers
import openai
import serve
from langchain_openai import ChatOpenAI
from serve import Json, client

# Once for all cases: each would set up TLS anew.
HTTP = {
    "http_client": openai.DefaultHttpxClient(timeout=10),
    "http_async_client": openai.DefaultAsyncHttpxClient(),
}


@client("langchain")
def chat(url: str, request: Json, report: Json) -> None:
    """ChatOpenAI: stream(), invoke(), bind_tools()."""
    asked = request.get("stream_options", {}).get("include_usage", False)
    model = ChatOpenAI(
        model=request["model"],
        api_key="made-up",
        base_url=url,
        max_retries=0,
        timeout=10,
        stream_usage=asked,
        **HTTP,
    )
    readers.chat(model, request, report)


if __name__ == "__main__":
    serve.main()
