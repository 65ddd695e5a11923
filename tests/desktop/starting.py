"""mitmdump by whatever command starts it, and one stream that it repairs."""

import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import support
from deploy.rig import ANSWER, BODY, HEAD, TAIL, broken
from support import Http1Client
from workshop.child import Child

LOCAL = "127.0.0.1"


def is_open(port: int) -> bool:
    try:
        support.connect(port).close()
    except OSError:
        return False
    return True


@contextmanager
def running(
    command: Sequence[str], port: int, folder: Path, environ: Mapping[str, str]
) -> Iterator["subprocess.Popen[Any]"]:
    """Run *command*, which listens on *port*; what it says is `log` in *folder*."""
    child = Child("mitmdump", command, env=environ, log=folder / "log")
    child.patience = support.PATIENCE
    with child:
        child.until(lambda: is_open(port) or None, support.PATIENCE)
        assert child.process
        yield child.process


def assert_it_repairs(port: int, provider: support.Provider) -> None:
    """Send one stream that is to be repaired through the reverse proxy on *port*."""
    script = provider.script(broken(HEAD), broken(TAIL))
    with Http1Client(support.connect(port)) as client:
        assert client.post(script.path, BODY).rest() == ANSWER
