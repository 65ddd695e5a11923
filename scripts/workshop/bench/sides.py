"""The sides that the benchmark compares, and the proxies that they run through."""

import contextlib
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from mitmproxy import certs

from workshop import NORMALIZE
from workshop.bench import machine
from workshop.bench.children import BenchMitmdump, Worker
from workshop.bench.load import Target
from workshop.bench.traffic import HOST, Form, Kind
from workshop.mitmdump import command

FOLDER = Path(__file__).resolve().parent


class Goals(NamedTuple):
    """What the CPU time per event may be, as a multiple of the floor's.

    Attributes:
        paced: By how many events a stream has.
        burst: In a long stream.
    """

    paced: Mapping[int, float]
    burst: float


class Side(NamedTuple):
    """One row of the table.

    Attributes:
        name: What it is called.
        title: What it is.
        proxy: The proxy's name; empty for straight from the provider.
        kind: What the provider sends.
        form: What has to arrive.
        goals: What is wanted of it, if anything.
        slow: How many times fewer paced streams it gets, and events of the long one.
    """

    name: str
    title: str
    proxy: str
    kind: Kind
    form: Form
    goals: Goals | None = None
    slow: int = 1

    @property
    def lags(self) -> bool:
        """Whether its proxy goes on working when a stream has ended: writes its log."""
        return self.proxy == "pairs"


DIRECT = Side("direct", "straight from the provider", "", "nim", "sent")
FLOOR = Side("floor", "mitmdump that streams, without an addon", "floor", "nim", "sent")
OURS = (
    Side(
        "good",
        "repair, a stream that needs none",
        "repair",
        "good",
        "repaired",
        Goals({5: 1.12, 60: 1.08, 600: 1.06}, 1.15),
    ),
    Side(
        "good-pairs",
        "the same with the before/after log",
        "pairs",
        "good",
        "repaired",
    ),
    Side(
        "nim",
        "repair, NIM's stream",
        "repair",
        "nim",
        "repaired",
        Goals({5: 1.18, 60: 1.1, 600: 1.06}, 1.28),
    ),
    Side(
        "nim-pairs",
        "the same with the before/after log",
        "pairs",
        "nim",
        "repaired",
        Goals({5: 1.2, 60: 1.15, 600: 1.12}, 1.5),
    ),
    Side("observe", "observe, NIM's stream", "observe", "nim", "sent"),
)
JSON = Side("json", "an addon that recodes every event", "json", "nim", "sent")
PEERS = (
    Side("flask", "Flask and requests, line by line", "flask", "nim", "sent"),
    Side("litellm", "LiteLLM's proxy", "litellm", "nim", "text", slow=10),
)
OTHER = Side("other", "the addon of --other, NIM's stream", "other", "nim", "repaired")
SIDES = {side.name: side for side in (DIRECT, FLOOR, *OURS, JSON, *PEERS, OTHER)}


class Proxy(NamedTuple):
    """A proxy that listens."""

    child: Worker
    port: int


class Addon(NamedTuple):
    """What one mitmdump loads.

    Attributes:
        script: Its addon.
        options: What is set besides.
    """

    script: Path
    options: Mapping[str, str]


def addons(other: Path | None = None) -> dict[str, Addon]:
    """Return what each kind of mitmdump loads; *other* is the addon of the side of that name."""
    silent = {"normalize_pairs": ""}
    found = {
        "floor": Addon(FOLDER / "floor.py", {}),
        "json": Addon(FOLDER / "json_cost.py", {}),
        "repair": Addon(NORMALIZE, silent),
        "pairs": Addon(NORMALIZE, {}),
        "observe": Addon(NORMALIZE, {"normalize_mode": "observe", **silent}),
    }
    if other is not None:
        found["other"] = Addon(other, silent)
    return found


class Mitmdumps:
    """Starts mitmdump, each with an empty configuration of its own.

    Args:
        folder: Where their files go.
        provider: The provider's port.
        cpus: Where they run.
        other: The addon of the side of that name.
    """

    def __init__(
        self, folder: Path, provider: int, cpus: machine.Cpus, other: Path | None = None
    ) -> None:
        self._folder = folder
        self._provider = provider
        self._cpus = cpus
        self._kinds = addons(other)
        self._started = 0
        # Made once: each of them would take its time to make a key.
        certs.CertStore.create_store(folder / "ca", "mitmproxy", 2048)

    @contextlib.contextmanager
    def running(self, names: Sequence[str]) -> Iterator[dict[str, Proxy]]:
        """Run those of *names*, side by side, and end them whatever happens.

        Raises:
            ChildError: One of them did not start.
        """
        with contextlib.ExitStack() as stack:
            children = {name: self._made(name) for name in names if name in self._kinds}
            for child in children.values():  # side by side
                stack.callback(child.stop)
                child.start()
            found = {}
            for name, child in children.items():
                child.ready()
                found[name] = Proxy(child, child.port)
                machine.pin(child.pid, self._cpus.proxies)  # it may start anywhere
            yield found

    def _made(self, name: str) -> BenchMitmdump:
        self._started += 1
        home = self._folder / f"{self._started}-{name}"
        shutil.copytree(self._folder / "ca", home)
        kind = self._kinds[name]
        options = {"confdir": str(home), "flow_detail": "0", **kind.options}
        mode = ("--mode", f"reverse:http://{HOST}:{self._provider}")
        made = command([kind.script], options, *mode)
        return BenchMitmdump(f"mitmdump ({name})", made, home)


def target(side: Side, port: int, pid: int, streams: int, events: int) -> Target:
    """Return what a load asks of *side*."""
    return Target(side.name, port, pid, side.kind, side.form, streams, events)
