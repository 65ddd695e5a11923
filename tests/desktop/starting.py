"""mitmdump by whatever command starts it, and one stream that it repairs."""

import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import support
from deploy.rig import ANSWER, BODY, HEAD, TAIL, broken
from support import Http1Client

LOCAL = "127.0.0.1"


def is_open(port: int) -> bool:
    try:
        support.connect(port).close()
    except OSError:
        return False
    return True


def wait_for(port: int, process: "subprocess.Popen[bytes]", log: Path) -> None:
    """Wait until *port* takes connections."""
    end = time.monotonic() + support.PATIENCE
    while not is_open(port):
        said = log.read_text(encoding="utf-8")
        assert process.poll() is None, said
        assert time.monotonic() < end, said
        time.sleep(0.05)


@contextmanager
def running(
    command: Sequence[str], port: int, folder: Path, environ: Mapping[str, str]
) -> Iterator["subprocess.Popen[bytes]"]:
    """Run *command*, which listens on *port*; what it says is `log` in *folder*."""
    path = folder / "log"
    with path.open("wb") as log:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environ
        )
    try:
        wait_for(port, process, path)
        yield process
    finally:
        process.terminate()
        try:
            process.wait(support.PATIENCE)
        finally:
            process.kill()
            process.wait()


def assert_it_repairs(port: int, provider: support.Provider) -> None:
    """Send one stream that is to be repaired through the reverse proxy on *port*."""
    script = provider.script(broken(HEAD), broken(TAIL))
    with Http1Client(support.connect(port)) as client:
        assert client.post(script.path, BODY).rest() == ANSWER
