"""The PAC file: whether it is served, as what browsers take for one."""

from ..desktop import local_server
from ..desktop.machine import Machine
from ..text.printable import brief
from .finding import Finding, Mark, Way, run

STEP = "PAC"
KIND = "application/x-ns-proxy-autoconfig"


def judge(machine: Machine, way: Way) -> Finding:
    """Return the step's line: /proxy.pac of the proxy that answers there."""
    answer = local_server.fetch(way.host, way.port, "/proxy.pac")
    where = f"{way.url}/proxy.pac"
    if answer is None:
        saw = "no answer"
    elif answer.status != 200:  # noqa: PLR2004
        saw = f"status {answer.status}"
    elif answer.kind != KIND:
        saw = f"comes as {brief(answer.kind) or 'nothing'}, not as {KIND}"
    else:
        return Finding(Mark.OK, STEP, f"{where} is served")
    restart = f"stop that proxy, then {run(machine)}"
    return Finding(Mark.FAIL, STEP, f"{where}: {saw}", restart)
