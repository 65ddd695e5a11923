"""The machine that measures: CPUs to pin to, and its name."""

import contextlib
import importlib.metadata
import os
import platform
import re
import time
from pathlib import Path
from typing import NamedTuple

import psutil


class Cpus(NamedTuple):
    """Where what runs; empty sets where nothing can be pinned.

    Attributes:
        proxies: The one CPU of all proxies.
        traffic: Those of provider and client.
        sentence: The same as a sentence.
    """

    proxies: frozenset[int]
    traffic: frozenset[int]
    sentence: str


def share_cpus() -> Cpus:
    """Return which of the CPUs that this process may use is the proxies' own."""
    cpus = os.sched_getaffinity(0)
    own = max(cpus)
    # What shares a core with the proxies would slow them down by turns.
    traffic = cpus - siblings(own) or cpus - {own}
    if not traffic:
        sentence = "one CPU only: provider and client take their share of the proxies'"
        return Cpus(frozenset(), frozenset(), sentence)
    names = ", ".join(map(str, sorted(traffic)))
    sentence = f"proxies on CPU {own}, provider and client on {names}"
    if siblings(own) & traffic:
        sentence += " (the same core)"
    return Cpus(frozenset({own}), frozenset(traffic), sentence)


def siblings(cpu: int) -> set[int]:
    """Return the CPUs that share a core with *cpu*, itself included."""
    path = Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")
    found = {cpu}
    with contextlib.suppress(OSError):
        for part in path.read_text(encoding="ascii").strip().split(","):
            first, _, last = part.partition("-")
            found |= set(range(int(first), int(last or first) + 1))
    return found


def pin(pid: int, cpus: frozenset[int]) -> None:
    """Keep a process, with all its threads and what they start, on *cpus*; if any."""
    if cpus:
        with contextlib.suppress(OSError):  # it has ended: found out soon enough
            for thread in Path(f"/proc/{pid}/task").iterdir():
                os.sched_setaffinity(int(thread.name), cpus)


def describe() -> dict[str, str]:
    """Return what the machine and its software are."""
    count = os.cpu_count() or 1
    memory = psutil.virtual_memory().total / 2**30
    return {
        "cpu": f"{cpu_name()}, {count} CPU{'s' if count > 1 else ''}",
        "memory": f"{memory:.0f} GB",
        "os": system_name(),
        "python": platform.python_version(),
        "mitmproxy": importlib.metadata.version("mitmproxy"),
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
    }


def system_name() -> str:
    """Return the system's name and its version."""
    with contextlib.suppress(OSError):
        kernel = re.match(r"[\d.]*", platform.release())
        assert kernel is not None
        name = platform.freedesktop_os_release()["PRETTY_NAME"]
        return f"{name}, Linux {kernel[0]}"
    return platform.platform(aliased=True, terse=True)


def cpu_name() -> str:
    """Return the CPU's model as the system names it, else its architecture."""
    with contextlib.suppress(OSError):
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
        if found := re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE):
            return " ".join(found[1].split())
    return platform.processor() or platform.machine()
