"""What the benchmark compares: lines of the table, and the proxies that they need."""

import contextlib
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from workshop import LOOPBACK, child, machine
from workshop.bench.traffic import GOOD, NIM, RECORDINGS, Form, size
from workshop.certificates import make_ca
from workshop.child import ChildError
from workshop.traffic.process import Mitmdump

FOLDER = Path(__file__).resolve().parent
CA = "mitmproxy"
LENGTHS = {5: 50, 60: 20, 600: 10}
"""Events of a made stream, and how many streams of each party: short ones are the most."""
RECORDED_EVENTS = 400
"""Of all streams of a recording together, at least."""
RECORDED_STREAMS = 6  # at least; all the same no proxy is to fall behind


class Load(NamedTuple):
    """What is asked for at one time.

    Attributes:
        label: What it is called.
        kind: What the provider sends.
        events: How many in each stream.
        streams: How many of each party.
    """

    label: str
    kind: str
    events: int
    streams: int


class Line(NamedTuple):
    """A line of the table.

    Attributes:
        title: What it is.
        kinds: What the provider sends.
        addon: The proxy with the addon.
        lean: The proxy with lean.py; empty for none.
        goals: What the addon's ratio may be, for each load.
        form: What has to arrive through the addon.
    """

    title: str
    kinds: Sequence[str]
    addon: str
    lean: str
    goals: Sequence[float] = ()
    form: Form = "repaired"

    @property
    def tls(self) -> bool:
        """Whether it goes through CONNECT with TLS."""
        return self.addon.endswith("-tls")

    @property
    def floor(self) -> str:
        """The proxy that the others are compared with."""
        return "floor-tls" if self.tls else "floor"

    def loads(self) -> list[Load]:
        """Return what is measured, in order."""
        if self.tls:
            found = []
            for kind in self.kinds:
                events = size(kind)
                streams = max(RECORDED_STREAMS, RECORDED_EVENTS // events)
                found.append(Load(f"{kind} ({events} events)", kind, events, streams))
            return found
        return [
            Load(f"{events} events", kind, events, streams)
            for kind in self.kinds
            for events, streams in LENGTHS.items()
        ]


_NIM_GOALS = (1.18, 1.1, 1.06)
LINES = {
    "good": Line(
        "a stream that needs no repair", (GOOD,), "repair", "lean", (1.12, 1.08, 1.06)
    ),
    "nim": Line("NIM's stream", (NIM,), "repair", "lean", _NIM_GOALS),
    "nim-pairs": Line(
        "NIM's stream, before/after log",
        (NIM,),
        "pairs",
        "lean-pairs",
        (1.2, 1.15, 1.12),
    ),
    "observe": Line("observe, NIM's stream", (NIM,), "observe", "", form="sent"),
    "recorded": Line(
        "answers of five providers through TLS, default options",
        tuple(RECORDINGS),
        "pairs-tls",
        "lean-pairs-tls",
        (1.12,) * len(RECORDINGS),
    ),
}


def check(proxy: Mitmdump) -> None:
    """See that a proxy still runs, and that no bug has shown.

    Raises:
        ChildError: It does not, or one has.
    """
    proxy.check()
    if proxy.alarms:
        raise ChildError(f"{proxy.name} met a bug: {proxy.alarms[0]}.", proxy.lines)


class Mitmdumps:
    """Starts mitmdump, each with an empty configuration of its own.

    Args:
        folder: Where their files go.
        provider: The provider's port, for those in reverse mode.
        cpus: Where they run.
        addon: What is measured.
    """

    def __init__(
        self, folder: Path, provider: int, cpus: machine.Cpus, addon: Path
    ) -> None:
        self._folder = folder
        self._provider = provider
        self._cpus = cpus
        self._measured = addon
        self._started = 0
        # Made once: each of them would take its time to make a key.
        self.trusted = make_ca(folder / "ca", CA)

    @contextlib.contextmanager
    def running(self, names: Sequence[str]) -> Iterator[dict[str, Mitmdump]]:
        """Run those of *names*, side by side, and end them whatever happens.

        Raises:
            ChildError: One of them did not start, or met a bug.
        """
        proxies = {name: self._made(name) for name in names}
        with child.running([*proxies.values()]):
            for each in proxies.values():
                machine.pin(each.pid, self._cpus.proxies)  # it may start anywhere
            yield proxies
            for each in proxies.values():
                check(each)  # its last words may have come late

    def _made(self, name: str) -> Mitmdump:
        self._started += 1
        home = self._folder / f"{self._started}-{name}"
        script, own = self._addon(name, home)
        options = dict(own)
        mode = f"reverse:http://{LOOPBACK}:{self._provider}"
        if name.endswith("-tls"):
            mode = "regular"
            options["ssl_verify_upstream_trusted_ca"] = str(self.trusted)
            if script == self._measured:  # it opens what goes to providers alone
                options["normalize_hosts"] = LOOPBACK
        made = Mitmdump(home, [mode], [script], options, name=name, has_control=False)
        shutil.copytree(self._folder / "ca", made.confdir)
        return made

    def _addon(self, name: str, home: Path) -> tuple[Path, Mapping[str, str]]:
        """Return what a proxy loads, and what is set."""
        silent = {"normalize_pairs": ""}
        known: dict[str, tuple[Path, Mapping[str, str]]] = {
            "floor": (FOLDER / "floor.py", {}),
            "lean": (FOLDER / "lean.py", {}),
            "lean-pairs": (FOLDER / "lean.py", {"lean_pairs": str(home / "pairs")}),
            "repair": (self._measured, silent),
            "pairs": (self._measured, {}),
            "observe": (self._measured, {"normalize_mode": "observe", **silent}),
        }
        return known[name.removesuffix("-tls")]
