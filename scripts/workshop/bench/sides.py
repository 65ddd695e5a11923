"""What the benchmark compares: lines of the table, and the proxies that they need."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from workshop import LOOPBACK
from workshop.bench.traffic import GOOD, NIM, RECORDINGS, Form, size
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


def mitmdump(name: str, addon: Path, folder: Path, ca: Path, provider: int) -> Mitmdump:
    """Return a mitmdump that is not started yet, with an empty configuration of its own.

    Args:
        name: Which proxy, as the lines name it.
        addon: What is measured.
        folder: Where its files go.
        ca: The folder of the CA that all share: each would take its time to make a key.
        provider: The provider's port, for one in reverse mode.
    """
    silent = {"normalize_pairs": ""}
    known: dict[str, tuple[Path, dict[str, str]]] = {
        "floor": (FOLDER / "floor.py", {}),
        "lean": (FOLDER / "lean.py", {}),
        "lean-pairs": (FOLDER / "lean.py", {"lean_pairs": str(folder / "pairs")}),
        "repair": (addon, silent),
        "pairs": (addon, {}),
        "observe": (addon, {"normalize_mode": "observe", **silent}),
    }
    script, options = known[name.removesuffix("-tls")]
    mode = f"reverse:http://{LOOPBACK}:{provider}"
    if name.endswith("-tls"):
        mode = "regular"
        options["ssl_verify_upstream_trusted_ca"] = str(ca / f"{CA}-ca-cert.pem")
        if script == addon:  # it opens what goes to providers alone
            options["normalize_hosts"] = LOOPBACK
    made = Mitmdump(folder, [mode], [script], options, name=name)
    shutil.copytree(ca, made.confdir)
    return made
