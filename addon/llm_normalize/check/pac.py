"""The PAC file: whether it is served, and sends the right hosts through the proxy."""

import json
import re

from ..desktop import local_server
from ..desktop.machine import Machine
from ..text.printable import brief
from .finding import Finding, Mark, Way, run

STEP = "PAC"
KIND = "application/x-ns-proxy-autoconfig"
UNLISTED = "unlisted.example"
EVALUATE = r"""
const vm = require("vm");
let text = "";
process.stdin.on("data", (each) => (text += each)).on("end", () => {
  const { code, hosts } = JSON.parse(text);
  const context = vm.createContext(Object.create(null));
  vm.runInContext(code, context, { timeout: 2000 });
  const answers = hosts.map((host) => {
    const asked = JSON.stringify(["https://" + host + "/", host]);
    const call = "FindProxyForURL.apply(null, " + asked + ")";
    return String(vm.runInContext(call, context, { timeout: 2000 }));
  });
  process.stdout.write(JSON.stringify(answers));
});
"""


def judge(machine: Machine, way: Way) -> Finding:
    """Return the step's line: /proxy.pac of the proxy that answers there."""
    answer = local_server.fetch(way.host, way.port, "/proxy.pac")
    where = f"{way.url}/proxy.pac"
    restart = f"stop that proxy, then {run(machine)}"
    if answer is None or answer.status != 200:  # noqa: PLR2004
        what = "no answer" if answer is None else f"status {answer.status}"
        return Finding(Mark.FAIL, STEP, f"{where}: {what}", restart)
    if answer.kind != KIND:
        saw = f"{where} comes as {brief(answer.kind) or 'nothing'}, not as {KIND}"
        return Finding(Mark.FAIL, STEP, saw, restart)
    pac = answer.body.decode("utf-8", errors="replace")
    exact = [each for each in way.hosts if "*" not in each and ":" not in each]
    labels = {each for host in exact for each in host.lower().split(".")}
    missing = [each for each in sorted(labels) if each not in pac.lower()]
    if missing or "FindProxyForURL" not in pac:
        what = f"does not name {brief(missing[0])}" if missing else "has no function"
        return Finding(Mark.FAIL, STEP, f"{where} {what}", restart)
    served = f"{where} names the hosts that are opened"
    if machine.find("node") is None or not exact:
        return Finding(Mark.OK, STEP, served)
    return _evaluated(machine, way, pac, exact, served, restart)


def _evaluated(
    machine: Machine, way: Way, pac: str, exact: list[str], served: str, restart: str
) -> Finding:
    text = json.dumps({"code": pac, "hosts": [*exact, UNLISTED]})
    done = machine.run(["node", "-e", EVALUATE], text=text, timeout=5)
    try:
        *listed, unlisted = json.loads(done.out)
    except ValueError:
        saw = f"the PAC file cannot be evaluated: {brief(done.last_line)}"
        return Finding(Mark.FAIL, STEP, saw, restart)
    astray = [
        f"{host} {answer}"
        for host, answer in zip(exact, listed, strict=False)
        if not _is_way(answer, way)
    ]
    if _is_way(unlisted, way):
        astray.append(f"{UNLISTED} {unlisted}")
    if astray:
        saw = f"the PAC file sends {brief(astray[0])}"
        return Finding(Mark.FAIL, STEP, saw, restart)
    saw = f"{served}; evaluated by Node: those come here, another host does not"
    return Finding(Mark.OK, STEP, saw)


def _is_way(answer: str, way: Way) -> bool:
    found = re.match(r"PROXY\s+(\S+):(\d+)", answer)
    return found is not None and way.is_here(found[1], int(found[2]))
