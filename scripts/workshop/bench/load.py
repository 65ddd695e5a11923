"""What the benchmark's client is asked to do: a load, as a line of JSON."""

import dataclasses
import json
from collections.abc import Sequence

from workshop.bench.traffic import Form, Kind


@dataclasses.dataclass(frozen=True)
class Target:
    """What one party of a load asks for, and where.

    Attributes:
        name: The side that it is.
        port: Where the proxy (or the provider) listens.
        pid: The proxy's process; 0 for none.
        kind: Which dialect the provider speaks.
        form: What has to arrive.
        streams: How many at once.
        events: How many in each of them.
    """

    name: str
    port: int
    pid: int
    kind: Kind
    form: Form
    streams: int
    events: int


@dataclasses.dataclass(frozen=True)
class Load:
    """What is asked for at one time.

    Attributes:
        targets: By whom; more than one run side by side.
        gap_us: Microseconds between two events of a stream; 0 for none.
        mark: The part of each stream that has come when the first mark is made.
        until: The part of any of them that has when the other one is.
        settle: Whether to wait at the end until the proxies have nothing to do.
    """

    targets: Sequence[Target]
    gap_us: int = 0
    mark: float = 0.25
    until: float = 1.0
    settle: bool = False

    @classmethod
    def of_line(cls, line: str) -> "Load":
        """Return the load that a line of stdin says."""
        received = json.loads(line)
        received["targets"] = [Target(**each) for each in received["targets"]]
        return cls(**received)

    def line(self) -> str:
        """Return the same as a line."""
        return json.dumps(dataclasses.asdict(self))
