"""Put mitmdump with the addon under load, check every byte, and tell the figures."""

from __future__ import annotations

import argparse

import _bootstrap
from workshop import arguments, markers

QUICK = {"streams": 20, "seconds": 4.0, "idle": 40, "slow": 2}
WHOLE = {"streams": 500, "seconds": 60.0, "idle": 2000, "slow": 10}
RATE = 10.0


def parse(given: list[str]) -> argparse.Namespace:
    """Return what the command line asks for."""
    parser = argparse.ArgumentParser(
        allow_abbrev=False,
        description=(
            "Send many streams at once through a real mitmdump, each of its own text, "
            "all of which is checked, and measure latency, memory and processor time."
        ),
        epilog=(
            "Provider, mitmdump and clients are three processes on loopback. Ends with "
            "exit code 1 if a byte was lost or changed, or mitmdump logged an error. "
            "Needs Linux (/proc). The first start makes the environment in .venv."
        ),
    )
    for name, kind, text in (
        ("streams", arguments.at_least(1), "streams at once"),
        ("seconds", arguments.above_zero, "how long they last"),
        ("idle", arguments.at_least(0), "streams that are held open meanwhile, silent"),
        ("slow", arguments.at_least(0), "clients that read 1 KB/s of all that comes"),
    ):
        default = f"{WHOLE[name]:g}, with --quick {QUICK[name]:g}"
        parser.add_argument(
            f"--{name}", type=kind, metavar="N", help=f"{text} (default: {default})"
        )
    parser.add_argument(
        "--rate",
        dest="rates",
        type=arguments.above_zero,
        nargs="+",
        default=[RATE],
        metavar="R",
        help="events a second of each stream; several are taken one after the other, "
        f"--seconds each (default: {RATE:g})",
    )
    parser.add_argument(
        "--floor",
        action="store_true",
        help="measure mitmproxy alone, which only passes the streams on, as well, and the "
        "addon where flows are stored",
    )
    parser.add_argument("--quick", action="store_true", help="small numbers")
    parser.add_argument(
        "--update-docs",
        action="store_true",
        help="write the tables into addon/docs/performance.md, between their markers",
    )
    flags = parser.parse_args(given)
    for name, value in (QUICK if flags.quick else WHOLE).items():
        if getattr(flags, name) is None:
            setattr(flags, name, value)
    return flags


def run(flags: argparse.Namespace) -> int:
    """Measure, tell the figures, and return the exit code."""
    from workshop import child  # noqa: PLC0415 - it needs the environment

    return child.measured(lambda: _run(flags))


def _run(flags: argparse.Namespace) -> int:
    from workshop.load import command as traffic_load  # noqa: PLC0415 - it needs the environment
    from workshop.load import report as traffic_report  # noqa: PLC0415
    from workshop.load import side as traffic_load_side  # noqa: PLC0415

    names = traffic_load_side.Asked._fields
    asked = traffic_load_side.Asked(**{name: getattr(flags, name) for name in names})
    figures = traffic_load.run(asked)
    text = traffic_report.markdown(figures)
    print(f"\n{text}")
    if not figures.good:
        print(f"\n{traffic_report.faults(figures)}")
    if flags.update_docs:
        if figures.good:
            markers.update(markers.DOCS / "performance.md", "load", text)
        else:
            print("\nThe document is as it was: something went wrong, see above.")
    return int(not figures.good)


if __name__ == "__main__":
    _bootstrap.main(parse, run)
