"""What a process weighs and works, on Linux, and whether its memory stays flat.

Linux tells the CPU time of a whole process in nanoseconds (POSIX's
`clock_getcpuclockid`); /proc/PID/stat has it in hundredths of a second, too coarse for
a short round.
"""

import ctypes
import re
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import linear_regression, mean
from typing import NamedTuple

import psutil

MIB = 1024 * 1024


class Weight(NamedTuple):
    """What /proc says of a process.

    Attributes:
        at: When, on the monotonic clock.
        rss: Bytes that are in memory.
        peak: The most that it ever was.
        cpu: Seconds that it has worked.
    """

    at: float
    rss: int
    peak: int
    cpu: float


def weigh(pid: int) -> Weight:
    """Return what the process *pid* weighs.

    Raises:
        OSError: It is gone, or the system has no /proc.
    """
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
    rss, peak = parse_status(status)
    return Weight(time.monotonic(), rss, peak, cpu_seconds(pid))


def cpu_seconds(pid: int) -> float:
    """Return the CPU time of *pid*, to the nanosecond; on Linux only.

    Raises:
        OSError: There is no such process.
    """
    clock = ctypes.c_int()
    failed = ctypes.CDLL(None).clock_getcpuclockid(pid, ctypes.byref(clock))
    if failed:
        raise ProcessLookupError(failed, f"process {pid} has no CPU clock")
    return time.clock_gettime_ns(clock.value) / 1e9


def parse_status(text: str) -> tuple[int, int]:
    """Return resident memory and its peak, in bytes, of what /proc/PID/status says.

    Raises:
        ProcessLookupError: It has neither: the process has ended, and waits to be reaped.
    """
    found = dict(re.findall(r"^Vm(RSS|HWM):\s*(\d+) kB$", text, re.MULTILINE))
    if len(found) != 2:  # noqa: PLR2004 - the two names above
        raise ProcessLookupError("no memory in /proc/PID/status")
    return int(found["RSS"]) * 1024, int(found["HWM"]) * 1024


QUIET = 0.05  # seconds; five of them: the pairs log gathers for 0.2 s before it writes
QUIET_CPU = 0.001  # seconds of CPU that a process at rest may use meanwhile
REST = 60.0


def settle(pids: Sequence[int], patience: float = REST) -> list[float]:
    """Return the CPU time of each of *pids* once they rest: a log is written late.

    Args:
        pids: Processes.
        patience: Seconds after which they are taken as they are.

    Raises:
        OSError: One of them has ended.
    """
    end = time.monotonic() + patience
    quiet = 0
    used = [cpu_seconds(pid) for pid in pids]
    while quiet < 5 and time.monotonic() < end:  # noqa: PLR2004 - see `QUIET`
        time.sleep(QUIET)
        now = [cpu_seconds(pid) for pid in pids]
        steps = [late - early for late, early in zip(now, used, strict=True)]
        quiet = quiet + 1 if max(steps) < QUIET_CPU else 0
        used = now
    return used


class Verdict(NamedTuple):
    """What became of the memory after the warm-up.

    Attributes:
        flat: Whether it grew no more than allowed.
        growth: Bytes that it grew, by linear regression over the samples.
        allowed: Bytes that it may grow.
        streams: Streams that passed meanwhile.
        minutes: How long that took.
    """

    flat: bool
    growth: float
    allowed: float
    streams: float
    minutes: float

    @property
    def per_minute(self) -> float:
        """Bytes a minute."""
        return self.growth / max(self.minutes, 1e-9)

    @property
    def per_10_000(self) -> float:
        """Bytes for 10,000 streams."""
        return self.growth / max(self.streams, 1) * 10_000

    def __str__(self) -> str:
        return (
            f"{'flat' if self.flat else 'NOT FLAT'}: {self.growth / MIB:+.1f} "
            f"MiB after the warm-up, at most {self.allowed / MIB:.1f} allowed "
            f"({self.per_minute / MIB:+.2f} MiB a minute, "
            f"{self.per_10_000 / MIB:+.2f} MiB for 10,000 streams)"
        )


class Sample(NamedTuple):
    """The memory at a moment, and how many streams had passed by then."""

    at: float
    rss: int
    streams: int


WARM_UP = 60.0
"""Seconds that are not judged: modules load, caches fill, arenas settle."""
JUDGED = 60.0
"""Seconds that are judged, at least: less tells nothing."""
NOISE = 12 * MIB
"""Bytes of growth that tell nothing: what a few large streams at once weigh, or one
arena more or less."""
A_STREAM = 512
"""Bytes of growth that a stream may leave behind: less than the smallest object that
stands for one (a flow alone has some 10 KiB)."""


def judge(samples: Sequence[Sample]) -> Verdict | None:
    """Tell whether the memory stayed flat; None if that took too little time to tell.

    Args:
        samples: The samples, in order of time.
    """
    judged = [each for each in samples if each.at >= samples[0].at + WARM_UP]
    if not judged or judged[-1].at - judged[0].at < JUDGED * 0.9:
        return None
    seconds = judged[-1].at - judged[0].at
    middle = mean(each.at for each in judged)
    slope = linear_regression(
        [each.at - middle for each in judged], [each.rss for each in judged]
    ).slope
    growth = slope * seconds
    streams = judged[-1].streams - judged[0].streams
    allowed = NOISE + A_STREAM * streams
    return Verdict(growth <= allowed, growth, allowed, streams, seconds / 60)


def machine_busy() -> float:
    """Return the seconds that all processors of the machine have worked."""
    busy = psutil.cpu_times()
    interrupts = busy.irq + busy.softirq + busy.steal  # by a hypervisor
    return float(busy.user + busy.nice + busy.system + interrupts)
