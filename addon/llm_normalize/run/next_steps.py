"""What `run` says of what to do next, on this system."""

from pathlib import Path
from typing import NamedTuple

from ..desktop import other_systems
from ..desktop.local_server import reachable
from ..desktop.machine import Machine, System
from ..desktop.mitmproxy_program import script
from ..desktop.proxy.settings import Target
from ..home import trust_advice
from ..text.authority import address
from ..text.command_line import CHECKOUT
from .mitmproxy_options import FORWARD, Listens, Plan

ANYWHERE = {"", "0.0.0.0", "::"}  # noqa: S104 - names of it, nothing listens


class Ways(NamedTuple):
    """The ways to set the proxy for this system's programs.

    Attributes:
        system: Its kind.
        settings: Whose proxy settings can be switched; empty for none.
        is_on: Whether they are.
    """

    system: System
    settings: str = ""
    is_on: bool = False


def next_steps(program: str, plan: Plan, ways: Ways) -> list[str]:
    """Return the lines to say when *program* starts: three, or none if it does not serve."""
    if not plan.listens:
        return []
    more = f"more: {_more()}"
    first = plan.listens[0]
    if first.mode == "reverse" and first.port is not None:
        upstream = _base(first.data)
        return [
            f"{program} listens on {_listening_address(first)} for {upstream}",
            f"  client: http://{_reachable_address(first)} for {upstream} in its base URL",
            f"  no certificate is needed; {more}",
        ]
    trust = f"  trust: {_install(ways, plan)}, or for one program {_trust(ways, plan)}"
    if first.mode not in FORWARD or first.port is None:
        return [
            f"{program} starts in the mode {first.mode}",
            trust,
            f"  {more}",
        ]
    home = f"http://{_reachable_address(first)}/"
    return [
        f"{program} listens on {_listening_address(first)}; its home page: {home}",
        trust,
        f"  programs: {_programs(ways, home.rstrip('/'))}; {more}",
    ]


def _more() -> Path:
    """The place to read more: an installed package has the folder of pages alone."""
    readme = CHECKOUT.parents[1] / "README.md"
    if CHECKOUT.exists() and readme.exists():
        return readme
    docs = (folder / "docs" for folder in (script().parents[1], script().parent))
    return next(filter(Path.is_dir, docs), script().parent)


def _programs(ways: Ways, url: str) -> str:
    one = trust_advice.setting({"HTTPS_PROXY": url}, system=ways.system)
    if ways.is_on:
        return f"{ways.settings}'s proxy is set to this server, and is restored on exit"
    if ways.settings:
        return f"start with --pac (or --system-proxy) for all, or for one {one}"
    return one


def _install(ways: Ways, plan: Plan) -> str:
    return trust_advice.command("install", plan.confdir, system=ways.system)


def _trust(ways: Ways, plan: Plan) -> str:
    certificate = str(plan.confdir / trust_advice.CERTIFICATE)
    one = trust_advice.setting({"SSL_CERT_FILE": certificate}, system=ways.system)
    return f"{one} (Node: NODE_EXTRA_CA_CERTS)"


def _listening_address(listens: Listens) -> str:
    return address(listens.host or "*", listens.port)


def _reachable_address(listens: Listens) -> str:
    return address(reachable(listens.host), listens.port)


def _base(data: str) -> str:
    return data if "://" in data else f"https://{data}"


def refusal(flag: str, machine: Machine, target: Target) -> str:
    """Why *flag* is refused where no settings are known, and what to do."""
    if machine.system != "linux":
        return other_systems.proxy(flag, machine.system, target)
    desktop = machine.environ.get("XDG_CURRENT_DESKTOP", "")
    where = f"the desktop {desktop!r}" if desktop else "a system without a desktop"
    return (
        f"{flag} knows nothing of the proxy settings of {where} (only those of GNOME "
        f"and KDE): start without it, and set HTTPS_PROXY=http://{target.place} for the "
        "programs that are to go through the proxy"
    )
