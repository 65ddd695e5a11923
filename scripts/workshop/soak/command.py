"""A soak: seeded streams with quirks and faults for minutes, and nothing may be wrong."""

import asyncio
import itertools
import math
import os
import shutil
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

from workshop import ADDON
from workshop.certificates import client_context, make_ca
from workshop.mitmdump import CONTROL
from workshop.soak.clients import Places, run_session
from workshop.soak.figures import Figures
from workshop.soak.judge import Seen, judge
from workshop.soak.plan import IN_A_SESSION, KEY, Plan, session
from workshop.soak.records import Records
from workshop.traffic.memory import MIB, Sample, weigh
from workshop.traffic.memory import judge as judge_memory
from workshop.traffic.process import PATIENCE, Mitmdump, ProviderProcess, allow_files

FILES = 4000
CLIENTS = 24
"""Sessions at once, of up to eight streams."""
SAMPLES = 1.0
"""Seconds between two samples of the memory."""
SHOWN = 1500
"""Characters of an answer that are shown, unless its session runs alone."""
AFTERMATH = 2.0
"""Seconds for which a stream may go on in mitmdump after its client's end."""
LISTED = 20
"""Faults that are printed one by one."""
SIZE = "1m"
"""The size at which the pairs log rotates."""
LOADING = 2.0
"""Seconds that a reload may take after mitmdump has logged that it begins."""

type Say = Callable[[str], None]


class Asked(NamedTuple):
    """What kind of soak.

    Attributes:
        seed: Of the dice.
        seconds: How long sessions begin.
        sessions: How many sessions instead of a time; None for a time.
        only: One session that is to run alone; None for all.
    """

    seed: int
    seconds: float
    sessions: int | None = None
    only: int | None = None


class Judged(NamedTuple):
    """What the pairs log has to know of a stream that is over."""

    chat: bool
    good: bool
    asked: float
    ended: float


class Soak:
    """Runs sessions, and judges what they bring.

    Args:
        asked: What kind.
        say: Takes a line of progress.
        scripts: More of them for mitmdump to load, after the addon.
    """

    def __init__(self, asked: Asked, say: Say, scripts: Sequence[Path] = ()) -> None:
        self.figures = Figures(asked.seed)
        self._asked = asked
        self._say = say
        self._scripts = scripts
        self._reloads: list[tuple[float, float]] = []
        self._judged: dict[int, Judged] = {}
        self._samples: list[Sample] = []

    async def run(self, folder: Path) -> None:
        """Run it, with *folder* for files."""
        allow_files(FILES)
        upstream = folder / "upstream"
        upstream.mkdir()
        ca = make_ca(upstream, "up")
        addon = folder / "addon"  # a copy: it is touched
        shutil.copytree(ADDON, addon, ignore=shutil.ignore_patterns("__pycache__"))
        seed = ("--seed", str(self._asked.seed), "--ca", str(upstream))
        with ProviderProcess("workshop.soak.provider", folder, *seed) as provider:
            ports = provider.ports
            options = {
                "normalize_hosts": [f"localhost:{ports[at]}" for at in ("tls", "h2")],
                "normalize_pairs_size": SIZE,
                "ssl_verify_upstream_trusted_ca": str(ca),
            }
            modes = [f"reverse:http://127.0.0.1:{ports['plain']}", "regular"]
            scripts = [addon / "normalize.py", *self._scripts, CONTROL]
            proxy = Mitmdump(folder / "mitmdump", modes, scripts, options)
            with proxy:
                records = Records(proxy.confdir / "normalize", KEY)
                await self._soak(proxy, provider, addon / "normalize.py", records)
            records.poll(last=True)
        self._account(records)
        for line in (*proxy.alarms, *provider.alarms):
            self._wrong(None, f"logged: {line}")

    async def _soak(
        self, proxy: Mitmdump, provider: ProviderProcess, script: Path, records: Records
    ) -> None:
        trusted = proxy.confdir / "mitmproxy-ca-cert.pem"
        trusts = {
            "tls": client_context(trusted, ["http/1.1"]),
            "h2": client_context(trusted, ["h2"]),
        }
        reverse, regular = proxy.places
        places = Places(reverse, regular, provider.ports, trusts)
        began = time.monotonic()
        self.figures.rss_start = weigh(proxy.pid).rss
        numbers = self._numbers(began + self._asked.seconds)
        watch = asyncio.create_task(self._watch(proxy, records))
        reloads = asyncio.create_task(self._reload(proxy, script))
        try:
            workers = [self._work(numbers, places) for _ in range(CLIENTS)]
            await asyncio.gather(*workers)
        finally:
            for task in (watch, reloads):
                task.cancel()
            ended = await asyncio.gather(watch, reloads, return_exceptions=True)
        for each in ended:
            if isinstance(each, Exception):
                raise each
        self.figures.seconds = time.monotonic() - began
        weight = weigh(proxy.pid)
        self.figures.rss_end, self.figures.rss_most = weight.rss, weight.peak
        self.figures.left_over = await self._census(proxy)
        if self.figures.left_over:
            self._wrong(None, f"left over in mitmdump: {self.figures.left_over}")
        if self._asked.only is None:
            self.figures.memory = judge_memory(self._samples)

    async def _census(self, proxy: Mitmdump) -> dict[str, int]:
        """Return what still stands for an answer, once there is none any more."""
        for _ in range(10):
            await asyncio.sleep(0.5)  # the last connections close
            census: dict[str, int] = await proxy.control(census=True)
            census["HTTPFlow"] -= 1  # that of the question itself
            left = {name: count for name, count in census.items() if count}
            if not left:
                break
        return left

    def _numbers(self, until: float) -> Iterator[int]:
        if self._asked.only is not None:
            yield self._asked.only
        elif self._asked.sessions is not None:
            yield from range(self._asked.sessions)
        else:
            yield from itertools.takewhile(
                lambda _: time.monotonic() < until, itertools.count()
            )

    async def _work(self, numbers: Iterator[int], places: Places) -> None:
        for k in numbers:
            its = session(self._asked.seed, k)
            self.figures.sessions[f"{its.client} to {its.upstream}"] += 1
            try:
                await run_session(self._asked.seed, its, places, self._record)
            except Exception:  # noqa: BLE001 - reported like any other fault
                self._wrong(k, traceback.format_exc())

    # -- what comes -----------------------------------------------------------------

    def _record(self, plan: Plan, seen: Seen) -> None:
        figures = self.figures
        figures.streams += 1
        figures.events += seen.body.count(b"\n\n")
        figures.bytes += len(seen.body)
        figures.kinds[plan.kind] += 1
        figures.faults.update(plan.faults)
        figures.quirks.update(plan.quirks)
        # mitmproxy may still be at it when its client has left.
        reloaded = self._is_reloaded(seen.asked, seen.ended + AFTERMATH)
        try:
            found = judge(plan, seen, reloaded=reloaded)
        except Exception:  # noqa: BLE001 - what cannot be read is a fault
            found = [traceback.format_exc()]
        if found:
            figures.mismatches += 1
            limit = SHOWN if self._asked.only is None else sys.maxsize
            lines = [str(plan), *found]
            lines += [f"sent {plan.transfer.sent!r}"[:limit]]
            lines += [f"received {seen.body!r}"[:limit]]
            self._wrong(plan.n // IN_A_SESSION, "\n    ".join(lines))
        good = plan.transfer.fault in ("", "stall") and not seen.left
        self._judged[plan.n] = Judged(
            plan.is_chat, good, seen.asked, seen.ended + AFTERMATH
        )

    def _wrong(self, k: int | None, text: str) -> None:
        """Record a fault, of session *k* if it is of one."""
        if k is not None:
            again = f"python3 scripts/soak.py --seed {self._asked.seed} --only {k}"
            text += f"\n  again: {again}"
        self.figures.wrong.append(text)
        if len(self.figures.wrong) <= LISTED:
            self._say(text)

    def _account(self, records: Records) -> None:
        """Compare the pairs log with what was received: one flow record for each stream."""
        figures = self.figures
        figures.pairs = records.pairs
        figures.flows = sum(map(len, records.flows.values()))
        for text in records.faults:
            self._wrong(None, text)
        for n, judged in self._judged.items():
            flows = records.flows.pop(n, [])
            figures.ends.update(flows)
            due = {1} if judged.chat else {0}
            if self._is_reloaded(judged.asked, judged.ended):
                due |= {0}  # what breaks off, or comes whole, after its addon has gone
            if len(flows) not in due:
                self._wrong(
                    n // IN_A_SESSION,
                    f"stream {n} has {len(flows)} flow records: {flows}",
                )
            elif flows and judged.good and flows[0] != "complete":
                self._wrong(
                    n // IN_A_SESSION,
                    f"stream {n} has ended well; its record says {flows}",
                )
        if records.flows:
            self._wrong(None, f"records of no stream: {[*records.flows][:20]}")

    # -- meanwhile ---------------------------------------------------------------------

    async def _watch(self, proxy: Mitmdump, records: Records) -> None:
        for at in itertools.count():
            await asyncio.sleep(SAMPLES)
            proxy.check()
            records.poll()
            weight = weigh(proxy.pid)
            done = self.figures.streams
            self._samples.append(Sample(weight.at, weight.rss, done))
            if at % 10 == 9:  # noqa: PLR2004
                self._say(
                    f"{at + 1} s: {done:,} streams, {weight.rss / MIB:.0f} MiB, "
                    f"{self.figures.mismatches} mismatches"
                )

    async def _reload(self, proxy: Mitmdump, script: Path) -> None:
        """Load the addon anew now and then."""
        dice = Random(f"{self._asked.seed} reloads")
        whole = max(self._asked.seconds / 60, 1)
        while self._asked.only is None:
            await asyncio.sleep(dice.uniform(4, 16) * min(whole, 4))
            self.figures.reloads += 1
            began = time.monotonic()
            self._reloads.append((began, math.inf))
            proxy.loaded.clear()
            os.utime(script)
            if not await asyncio.to_thread(proxy.loaded.wait, PATIENCE):
                raise TimeoutError
            await asyncio.sleep(LOADING)
            self._reloads[-1] = began, time.monotonic()

    def _is_reloaded(self, began: float, ended: float) -> bool:
        """Tell whether the addon may have been reloaded between two times."""
        return any(start <= ended and began <= end for start, end in self._reloads)


def run(asked: Asked, scripts: Sequence[Path] = ()) -> Figures:
    """Run a soak, printing the progress.

    Args:
        asked: What kind.
        scripts: More of them for mitmdump to load, after the addon.

    Raises:
        ChildError: It could not be done.
    """
    soak = Soak(asked, lambda text: print(text, flush=True), scripts)
    with tempfile.TemporaryDirectory(prefix="llm_normalize-soak-") as name:
        asyncio.run(soak.run(Path(name)))
    return soak.figures
