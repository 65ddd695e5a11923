"""mitmproxy's console in a real terminal: the views and the commands of the addon."""

import os
import shlex
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Self

import pytest

from end_to_end.test_browser import HOSTILE
from nim_stream import ASKED, STREAM, chunk
from support import (
    ADDON,
    LOOPBACK,
    PATIENCE,
    Http1Client,
    Mitmdump,
    Provider,
    connect,
    to,
)

_START = "from mitmproxy.tools.main import mitmproxy; mitmproxy()"


class Console:
    """mitmproxy in a tmux of its own, 120 columns wide.

    Args:
        folder: An empty folder for all its files.
        ca: Folder of mitmproxy's CA.
        args: More arguments.
    """

    def __init__(self, folder: Path, ca: Path, *args: str) -> None:
        confdir = folder / "conf"
        shutil.copytree(ca, confdir)
        listen = ("--listen-host", LOOPBACK, "--listen-port", "0")
        options = ("--set", f"confdir={confdir}", "-s", str(ADDON / "normalize.py"))
        self._command = [sys.executable, "-c", _START, *listen, *options, *args]
        self._socket = folder / "tmux"

    def _tmux(self, *args: str) -> str:
        done = subprocess.run(
            ["tmux", "-S", str(self._socket), "-f", os.devnull, *args],
            env={**os.environ, "LC_ALL": "C.UTF-8", "TERM": "xterm-256color"},
            capture_output=True,
            text=True,
            check=False,
        )
        return done.stdout

    def __enter__(self) -> Self:
        size = ("-x", "120", "-y", "60")
        self._tmux("new-session", "-d", "-s", "m", *size, shlex.join(self._command))
        return self

    def __exit__(self, *_: object) -> None:
        self._tmux("kill-server")

    @property
    def screen(self) -> str:
        """What can be seen."""
        return self._tmux("capture-pane", "-p", "-t", "m")

    def keys(self, *keys: str) -> None:
        """Press keys, by tmux's names."""
        for key in keys:
            self._tmux("send-keys", "-t", "m", key)

    def sees(self, *texts: str) -> str:
        """Wait until all *texts* can be seen, and return the screen."""
        end = time.monotonic() + PATIENCE
        while True:
            screen = self.screen
            missing = [text for text in texts if text not in screen]
            if not missing:
                return screen
            assert time.monotonic() < end, f"never seen: {missing}\n{screen}"
            time.sleep(0.1)

    def port(self) -> int:
        """Return the port that it listens on, which its last line tells."""
        self.sees("[127.0.0.1:", "Quit")
        return int(self.screen.rpartition("[127.0.0.1:")[2].partition("]")[0])


type Start = Callable[..., Console]


@pytest.fixture
def start(tmp_path: Path, mitm_ca: Path) -> Iterator[Start]:
    if shutil.which("tmux") is None:
        assert not os.environ.get("CI"), "tmux is not installed"
        pytest.skip("tmux is not installed")
    started: list[Console] = []

    def begin(*args: str) -> Console:
        folder = tmp_path / f"console{len(started)}"
        folder.mkdir()
        started.append(Console(folder, mitm_ca, *args).__enter__())
        return started[-1]

    yield begin
    for each in started:
        each.__exit__()


def saved(folder: Path, ca: Path, provider: Provider, *parts: bytes) -> Path:
    """Return a file with the flow of one stream."""
    folder.mkdir()
    script = provider.script(*parts)
    path = folder / "flows"
    with Mitmdump(folder, ca, *to(provider), "-w", str(path)) as dump:
        dump.ask(script.path, ASKED)
        dump.terminate()
    return path


def test_views_open_on_running_and_past_flows(start: Start, provider: Provider) -> None:
    gate = threading.Event()
    script = provider.script(*STREAM[:5], gate, *STREAM[5:])
    console = start(*to(provider))
    with Http1Client(connect(console.port())) as client:
        reply = client.post(script.path, ASKED)
        reply.until(b" brook")
        console.sees(script.path)
        console.keys("Enter", "Tab")
        console.sees("Before/After", "stream, still running", "x role-null")
        gate.set()
        reply.rest()
    console.sees(
        "44 of 45 events repaired",
        "stream, complete",
        "choices[0].delta.role: null → removed",
        "next 41 events: choices[0].delta.role: null → removed",
    )
    console.keys(":", "console.flowview.mode.set transcript", "Enter")
    console.sees("Transcript", "Mill brook brook", "finish: stop")


def test_saved_flow_is_shown_and_what_it_says_commands_nothing(
    start: Start, provider: Provider, mitm_ca: Path, tmp_path: Path
) -> None:
    hostile = chunk({"role": None, "content": HOSTILE}, model=HOSTILE)
    path = saved(tmp_path / "dump", mitm_ca, provider, STREAM[0], hostile, *STREAM[-2:])
    console = start("--rfile", str(path))
    console.sees("POST")
    console.keys("Enter", "Tab")
    seen = console.sees("<script>alert(1)</script>", r"\u001b[2J", r"\u202eevil")
    assert "events repaired" in seen  # nothing was wiped away
