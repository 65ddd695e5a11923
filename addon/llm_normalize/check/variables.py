"""The proxy variables of this shell: whether they lead to the proxy, and what for."""

from collections.abc import Iterable, Sequence

from ..desktop import local_server, node
from ..desktop.machine import Machine
from ..desktop.proxy.variables import of_https, parse, spelled, value
from ..text.command_line import command_line
from ..text.network_address import HOSTS, is_loopback
from .finding import Finding, Mark, Way, masked, run, unset, variable

STEP = "variables"
NAMES = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY")


def lead_here(machine: Machine, way: Way) -> bool:
    """Tell whether https:// of this shell's programs goes to the proxy."""
    found = of_https(machine.environ)
    return found is not None and way.is_here(found.host, found.port)


def judge(machine: Machine, way: Way) -> list[Finding]:
    """Return the lines about the variables."""
    names = [name for name in NAMES if value(machine.environ, name)]
    if not names:
        saw = "this shell has no proxy variable: its programs connect directly"
        return [Finding(Mark.SKIP, STEP, saw)]
    findings = [*_differing(machine)]
    findings += [found for name in names if (found := _leads(machine, way, name))]
    is_here = lead_here(machine, way)
    if is_here:
        findings += _excluded(machine, way)
        findings += _node(machine)
    elif not findings:
        saw = "HTTPS_PROXY is not set: what is asked by https:// goes past the proxy"
        repair = variable(machine, "HTTPS_PROXY", way.url)
        findings.append(Finding(Mark.WARN, STEP, saw, repair))
    if all(each.mark is Mark.SKIP for each in findings):
        shown = ", ".join(
            f"{spelled(machine.environ, name)}={masked(value(machine.environ, name))}"
            for name in names
        )
        findings.insert(0, Finding(Mark.OK, STEP, f"{shown} points to this proxy"))
    return findings


def _differing(machine: Machine) -> Iterable[Finding]:
    for name in (*NAMES, "NO_PROXY"):
        upper, lower = machine.environ.get(name), machine.environ.get(name.lower())
        if machine.system != "windows" and upper and lower and upper != lower:
            saw = f"{name} is {masked(upper)}, but {name.lower()} is {masked(lower)}"
            repair = (
                f"unset {name}  # or {name.lower()}: programs differ in which they read"
            )
            yield Finding(Mark.WARN, STEP, saw, repair)


def _leads(machine: Machine, way: Way, name: str) -> Finding | None:
    """The problem with the proxy in a variable; None if it is this one."""
    text = value(machine.environ, name)
    counts = spelled(machine.environ, name)
    says = f"{counts}={masked(text)}"
    right = variable(machine, counts, way.url)
    found = parse(text)
    if found is None:
        return Finding(Mark.FAIL, STEP, f"{says} is not a proxy's address", right)
    if way.is_here(found.host, found.port):
        if found.scheme == "http":
            return None
        saw = f"{says}: this proxy speaks http://, not {found.scheme}://"
        return Finding(Mark.FAIL, STEP, saw, right)
    if is_loopback(found.host):
        if not local_server.listens(found.host, found.port):
            saw = f"{says}: nothing listens there, this shell's programs are cut off"
            repair = f"{right}, or: {unset(machine, *_set(machine, name))}"
            return Finding(Mark.FAIL, STEP, saw, repair)
        saw = f"{says} points to another program on this machine"
        return Finding(Mark.WARN, STEP, saw, right)
    saw = f"{says} points to another proxy"
    repair = right
    if found.is_http:
        # A password stays where it is, and off every command line.
        upstream = f"env:{counts}" if "@" in text else found.url
        repair = f"{run(machine)} --upstream-proxy {upstream}, and {right}"
    else:
        saw += f", by {found.scheme}://, through which this one cannot go"
    return Finding(Mark.WARN, STEP, saw, repair)


def _set(machine: Machine, name: str) -> list[str]:
    both = dict.fromkeys((name, name.lower()))
    return [each for each in both if machine.environ.get(each)] or [name]


# NO_PROXY


def entries(text: str) -> list[str]:
    """Return the hosts that a NO_PROXY names."""
    return [each for each in text.replace(",", " ").split() if each]


def excludes(entry: str, host: str) -> bool:
    """Tell whether an entry of NO_PROXY keeps *host* off the proxy."""
    if entry == "*":
        return True
    name = entry.lower().rpartition("]")[2].partition(":")[0]
    name = name.removeprefix("*").removeprefix(".")
    # A pattern of ours stands for any name that fits it.
    host = host.lower().replace("*", "any").partition(":")[0]
    return bool(name) and (host == name or host.endswith("." + name))


def _excluded(machine: Machine, way: Way) -> Iterable[Finding]:
    listed = entries(value(machine.environ, "NO_PROXY"))
    past = {each: _hit(each, way.hosts) for each in listed if _hit(each, way.hosts)}
    others = [each for each in listed if each not in past]
    lacking = [each for each in HOSTS[:2] if each not in listed and "*" not in listed]
    wanted = [*others, *(each for each in HOSTS if each not in others)]
    repair = variable(machine, spelled(machine.environ, "NO_PROXY"), ",".join(wanted))
    for entry, host in past.items():
        saw = f"NO_PROXY has {masked(entry)}: {host} goes past the proxy, unrepaired"
        yield Finding(Mark.FAIL, STEP, saw, repair)
    # By http:// they are asked past an HTTPS_PROXY anyway: `env` sets no more than that.
    if lacking and (listed or any(value(machine.environ, name) for name in NAMES[1:])):
        saw = f"NO_PROXY lacks {' and '.join(lacking)}: "
        saw += "what runs on this machine is asked through the proxy, too"
        yield Finding(Mark.WARN, STEP, saw, repair)


def _hit(entry: str, hosts: Sequence[str]) -> str:
    return next((host for host in hosts if excludes(entry, host)), "")


# Node


def _node(machine: Machine) -> Iterable[Finding]:
    found, knows = node.version(machine)
    if not found:
        return  # its line about trust reports one that does not start
    if not knows:
        repair = "a newer Node, or a base URL: "
        repair += command_line("nvidia", system=machine.system)
        yield Finding(Mark.FAIL, STEP, node.ignores(found), repair)
    elif machine.environ.get(node.SWITCH) != "1":
        saw = f"{node.SWITCH} is not 1: Node's own fetch and https follow no variable"
        yield Finding(Mark.WARN, STEP, saw, variable(machine, node.SWITCH, "1"))
