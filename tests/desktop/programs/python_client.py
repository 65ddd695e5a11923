"""Clients in Python, as people write them: argv is which one, and the base URL.

Nothing here names the proxy or its CA: the variables do. Chunks go to stdout, a line each.
"""

# ruff: noqa: PLC0415 - the interpreter may lack what the others import

import asyncio
import json
import sys

ASKED = {
    "model": "acme/brook-8b",
    "stream": True,
    "messages": [{"role": "user", "content": "Name a stream."}],
}


def show(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def by_urllib(base: str) -> None:
    import urllib.request

    request = urllib.request.Request(
        f"{base}/chat/completions",
        json.dumps(ASKED).encode(),
        {"content-type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=20) as answer:
        for line in answer:
            show(line.decode().rstrip())


def by_httpx(base: str) -> None:
    import httpx

    with httpx.stream("POST", f"{base}/chat/completions", json=ASKED) as answer:
        for line in answer.iter_lines():
            show(line)


def by_requests(base: str) -> None:
    import requests

    answer = requests.post(
        f"{base}/chat/completions", json=ASKED, stream=True, timeout=20
    )
    for line in answer.iter_lines(chunk_size=1):
        show(line.decode())


def by_aiohttp(base: str) -> None:
    import aiohttp  # type: ignore[import-not-found]

    async def ask() -> None:
        async with (
            aiohttp.ClientSession(trust_env=True) as session,
            session.post(f"{base}/chat/completions", json=ASKED) as answer,
        ):
            async for line in answer.content:
                show(line.decode().rstrip())

    asyncio.run(ask())


def by_openai(base: str) -> None:
    from openai import OpenAI  # type: ignore[import-not-found]

    client = OpenAI(api_key="sk-none", base_url=base, max_retries=0)
    for chunk in client.chat.completions.create(**ASKED):
        show(chunk.model_dump_json(exclude_unset=True))


if __name__ == "__main__":
    globals()[f"by_{sys.argv[1]}"](sys.argv[2])
