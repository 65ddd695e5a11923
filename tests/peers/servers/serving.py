# mypy: ignore-errors
# What it imports is in the servers' own environment.
"""What the peers' programs share: an app is served on a free port, which is printed.

A program is started with the folder of its peer's unpacked source.
"""

import socket
import sys

import uvicorn

WORDS = ("Tea", " at", " five", ".")
CALL = {"name": "ring_bell", "arguments": '{"times":2}'}
TOKENS = {"prompt_tokens": 9, "completion_tokens": 4}


def source() -> str:
    """Return the folder of the peer's source, where imports find it from now on."""
    sys.path.insert(0, sys.argv[1])
    return sys.argv[1]


def serve(app) -> None:
    """Serve *app* until the process is ended."""
    listener = socket.create_server(("127.0.0.1", 0))
    print(f"listening at 127.0.0.1:{listener.getsockname()[1]}", flush=True)
    config = uvicorn.Config(app, log_level="warning", lifespan="off", ws="none")
    uvicorn.Server(config).run(sockets=[listener])
