"""`llm-normalize status`: what runs and what is set up, looked at and not changed."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from ..text.network_address import add_port

PROG = "llm-normalize status"


def parse(given: Sequence[str]) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        prog=PROG,
        allow_abbrev=False,
        description="Tell what runs and what is set up: the proxy, who trusts its CA, the "
        "system's proxy settings, the service. `check` looks whether it all works.",
        epilog="Ends with 0 if the proxy runs, else with 1.",
    )
    add_port(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    return parser.parse_args(given)


def main(given: Sequence[str]) -> int:
    """Tell it and return the exit code."""
    flags = parse(given)
    # Here, since they need what parse does not: see scripts/run.py.
    import json  # noqa: PLC0415

    from ..desktop.machine import Machine  # noqa: PLC0415
    from .status_facts import facts  # noqa: PLC0415

    found = facts(Machine(), flags.port)
    if flags.json:
        print(json.dumps(found, indent=1))
    else:
        for line in lines(found, flags.port):
            print(line)
    return int(found["proxy"] is None)


def lines(found: dict[str, Any], port: int) -> list[str]:
    """Return what was *found* as it is printed."""
    proxy, switched, service = found["proxy"], found["system_proxy"], found["service"]
    said = f"none on port {port}"
    if found["other"]:
        said += f"; {found['other']} listens there"
    if proxy:
        said = f"llm_normalize {proxy['version']} on port {port} ({proxy['mode']}, pid {proxy['pid']})"
    made = [f"proxy         {said}"]
    if proxy:
        made.append(f"answers       {proxy['repaired']} of {proxy['answers']} repaired")
    made.append(f"CA            {found['ca'] or 'none yet'}")
    for each in found["trust"]:
        place = f" ({each['place']})" if each["place"] else ""
        made.append(f"  {each['name']:<12}{each['state']}{place}")
    made.append(f"system proxy  {switched or 'not set by llm-normalize'}")
    made.append(f"service       {service['state'] if service else 'not installed'}")
    return made
