"""What `run` says of what to do next, on this system."""

from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from ..desktop import other_systems
from ..desktop.local_server import reachable
from ..desktop.machine import Machine, System
from ..desktop.mitmproxy_program import script
from ..desktop.proxy.settings import Target
from ..home import PREFIX, trust_advice
from ..routing import known_providers
from ..routing.keys import Keys
from ..text.command_line import CHECKOUT, command_line
from ..text.network_address import PORTS, address
from .mitmproxy_options import FORWARD, Listens, Plan

DEFAULT_PORT = 8080
ANYWHERE = {"", "0.0.0.0", "::"}  # noqa: S104 - names of it, nothing listens


class Serves(NamedTuple):
    """What a reverse proxy's options ask of its clients, and do for them.

    Attributes:
        keys: Those of `normalize_keys`.
        has_gate: Whether clients present a token of `normalize_gate`.
        is_paced: Whether `normalize_pace` is set.
        certificate: The host name in the certificate of `--certs`; None without one.
    """

    keys: Keys = Keys()
    has_gate: bool = False
    is_paced: bool = False
    certificate: str | None = None


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


def startup_summary(
    program: str,
    plan: Plan,
    ways: Ways,
    page: str = "",
    base: str = "",
    serves: Serves | None = None,
) -> list[str]:
    """Return the lines to say when *program* serves, none if it does not.

    Args:
        program: Its name.
        plan: Where it listens.
        ways: The ways to set the proxy.
        page: mitmweb's own address, with its token.
        base: The base URL that it stands for, if `--provider` named it.
        serves: What a reverse proxy does for its clients.
    """
    if not plan.listens:
        return []
    first = plan.listens[0]
    flows = [f"  flows:        {page}"] if page else []
    if first.mode == "reverse" and first.port is not None:
        return [*_base_url(first, base, serves or Serves()), *flows]
    trust = trust_advice.command("install", plan.confdir, system=ways.system)
    if first.mode not in FORWARD or first.port is None:
        said = [
            f"{program} starts in the mode {first.mode}",
            f"  trust:        {trust}",
        ]
    else:
        said = _proxy(program, first, ways, trust)
    return [*said, *flows, f"  more:         {_more()}"]


def _base_url(listens: Listens, base: str, serves: Serves) -> list[str]:
    """Return what a client sets that can be given a base URL."""
    base = base or known_providers.base_of(listens.data)
    here = f"http://{_reachable_address(listens)}"
    there, scheme = here, "http:// and not https://, no certificate"
    if serves.certificate is not None:
        named = serves.certificate or reachable(listens.host)
        there = f"https://{address(named, listens.port)}"
        scheme = "under a host name of the certificate"
    parts = urlsplit(base)
    secret = serves.keys.secret(parts.hostname or "", parts.port or PORTS[parts.scheme])
    key = "the same key" if secret is None else "any key (normalize_keys has its own)"
    if serves.has_gate:
        key = "a token of normalize_gate as the key"
    said = [
        f"Set your client's base URL to {there}{parts.path}",
        f"  It stands for {base}:",
        f"  {key}, {scheme}.",
        f"  Its home page: {here}{PREFIX}/",
    ]
    host, variable = parts.netloc, known_providers.variable_of(base)
    if serves.has_gate and secret is None and variable:
        said += [
            "  The provider gets no key. To give it one, add",
            f"  --set normalize_keys={host}=env:{variable}",
        ]
    most = known_providers.A_MINUTE.get(host)
    if most and not serves.is_paced:
        said += [
            f"  It takes {most} requests a minute of one key. To have the rest wait, add",
            f"  --set normalize_pace={host}={most}/60s",
        ]
    return said


def _proxy(program: str, listens: Listens, ways: Ways, trust: str) -> list[str]:
    """Return the ways for programs to use a proxy."""
    at = [] if listens.port == DEFAULT_PORT else ["-p", str(listens.port)]
    home = f"http://{_reachable_address(listens)}/"
    one = command_line("exec", *at, "--", "PROGRAM", system=ways.system)
    base = command_line("nvidia", system=ways.system)
    said = [
        f"{program} listens on {_listening_address(listens)}; its home page: {home}",
        f"  one program:  {one}",
        f"  the desktop:  {trust}",
    ]
    if ways.is_on:
        said.append(
            f"                {ways.settings}'s proxy is set to this server, and is restored on exit"
        )
    elif ways.settings:
        said.append("                and start with --pac (or --system-proxy)")
    return [*said, f"  by base URL:  {base} (or another provider)"]


def _more() -> Path:
    """The place to read more: an installed package has the folder of pages alone."""
    readme = CHECKOUT.parents[1] / "README.md"
    if CHECKOUT.exists() and readme.exists():
        return readme
    docs = (folder / "docs" for folder in (script().parents[1], script().parent))
    return next(filter(Path.is_dir, docs), script().parent)


def _listening_address(listens: Listens) -> str:
    host = "*" if listens.host in ANYWHERE else listens.host
    return address(host, listens.port)


def _reachable_address(listens: Listens) -> str:
    return address(reachable(listens.host), listens.port)


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
