# mypy: ignore-errors
# LangChain is not in the project's environment.
"""LangChain's model for NVIDIA's NIM."""

import urllib.parse

import langchain_readers as readers
import serve
from langchain_nvidia_ai_endpoints import ChatNVIDIA
from serve import Json, client

DUMP = "_content_consumed"  # it puts a whole `requests` response into words


@client("langchain-nvidia")
def chat(url: str, request: Json, report: Json) -> None:
    """ChatNVIDIA: stream(), invoke(), bind_tools()."""
    model = ChatNVIDIA(
        model=request["model"],
        api_key="made-up",
        base_url=url,
        stream_options=request.get("stream_options"),
        usage_telemetry_enabled=False,
        timeout=10,
    )
    # After a 202 it asks NVIDIA's own host, whatever the base URL.
    polling = urllib.parse.urlsplit(model._client.polling_url_tmpl).path
    model._client.polling_url_tmpl = urllib.parse.urljoin(url, polling)
    try:
        readers.chat(model, request, report)
    except Exception as error:
        title, _, body = str(error).partition("\n")
        if DUMP not in body:
            raise
        # Dates and addresses in memory are in it: another one each time.
        raise type(error)(f"{title}\n(a dump)") from error


if __name__ == "__main__":
    serve.main()
