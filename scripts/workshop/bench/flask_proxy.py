"""A peer of the benchmark: the line proxy that people write with Flask and requests.

Runs in the peers' own environment. Its argument is the provider's URL; prints its port.
"""

import sys
from collections.abc import Iterator

import flask
import requests
from werkzeug.serving import make_server

app = flask.Flask(__name__)


@app.post("/v1/chat/completions")
def completions() -> flask.Response:
    """Send the answer's lines on as they come."""
    answer = requests.post(
        sys.argv[1] + flask.request.path,
        data=flask.request.get_data(),
        headers={"content-type": "application/json"},
        stream=True,
        timeout=60,
    )

    def lines() -> Iterator[bytes]:
        for line in answer.iter_lines():
            if line:
                yield line + b"\n\n"

    return flask.Response(lines(), answer.status_code, mimetype="text/event-stream")


if __name__ == "__main__":
    server = make_server("127.0.0.1", 0, app, threaded=True)
    print("listens on port", server.port, flush=True)
    server.serve_forever()
