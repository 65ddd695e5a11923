"""Who trusts the CA: handshakes that real programs make through the proxy show it.

Each of them asks the proxy for the probe, a host that exists nowhere else: its TLS is
opened with the CA, and nothing is asked of anybody.
"""

import contextlib
import json
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import certifi

from ..desktop.machine import Machine
from ..desktop.trust.certificate import read
from ..home import ca_bundle, trust_advice
from ..text.printable import brief
from .ca import Authority
from .finding import Finding, Mark, Way, variable

TIMEOUT = 8
STORES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE")
# Runs on the user's own Python, which may be an old one. What httpx and requests read:
# httpx/_config.py (create_ssl_context), requests/sessions.py (merge_environment_settings).
PYTHON = """
import http.client, json, os, ssl, sys
host, port, target, bundle = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
bundle = bundle or None
get = os.environ.get
def store(path):
    if os.path.isdir(path):
        return ssl.create_default_context(capath=path)
    return ssl.create_default_context(cafile=path)
def httpx():
    named = get("SSL_CERT_FILE") or get("SSL_CERT_DIR") or bundle
    return store(named)
def requests():
    return store(get("REQUESTS_CA_BUNDLE") or get("CURL_CA_BUNDLE") or bundle)
def ask(make):
    try:
        asked = http.client.HTTPSConnection(host, port, context=make(), timeout=5)
        asked.set_tunnel(target, 443)
        asked.connect()
        asked.close()
    except Exception as error:
        return str(error) or repr(error)
    return ""
results = {"ssl": ask(ssl.create_default_context)}
results["httpx"], results["requests"] = ask(httpx), ask(requests)
print(json.dumps(results))
"""
NODE = r"""
const [host, port, target] = process.argv.slice(1);
const has = (name) => process.allowedNodeEnvironmentFlags.has(name);
const end = (error) => {
  const result = { error, version: process.version, system: has("--use-system-ca") };
  process.stdout.write(JSON.stringify(result), () => process.exit(0));
};
const asked = require("http").request({
  host, port, method: "CONNECT", path: target + ":443", timeout: 5000,
});
asked.on("timeout", () => asked.destroy(new Error("no answer")));
asked.on("error", (error) => end(error.message));
asked.on("connect", (answer, socket) => {
  if (answer.statusCode !== 200) return end("CONNECT: " + answer.statusCode);
  const secure = require("tls").connect({ socket, servername: target });
  secure.on("error", (error) => end(error.code + ": " + error.message));
  // NODE_TLS_REJECT_UNAUTHORIZED=0 lets everything in, and is no trust.
  secure.on("secureConnect", () =>
    end(secure.authorized ? "" : String(secure.authorizationError)));
});
asked.end();
"""


class Led(NamedTuple):
    """Which settings lead programs to the proxy.

    A program that uses the proxy and does not trust the CA gets no answer: a failure.
    For one that does not use it, missing trust is a warning.

    Attributes:
        shell: This shell's variables.
        desktop: The system's setting.
    """

    shell: bool
    desktop: bool


class Probe(NamedTuple):
    """What the handshakes are with.

    Attributes:
        way: The proxy.
        place: The probe, `HOST/TOKEN`.
        ca: The CA in the user's folder.
        meant: Where the proxy is to listen, while one of the check's own takes its place.
    """

    way: Way
    place: str
    ca: Authority
    meant: Way | None = None

    @property
    def host(self) -> str:
        """The probe's name."""
        return self.place.partition("/")[0]


def judge(machine: Machine, probe: Probe, led: Led) -> Iterator[Finding]:
    """Yield a line for each kind of program."""
    yield _marked(_system(machine, probe), must=led.shell or led.desktop)
    # urllib and requests follow the desktop's setting there.
    follows = led.desktop and machine.system != "linux"
    for found in _python(machine, probe):
        yield _marked(found, must=led.shell or follows)
    yield _marked(_node(machine, probe), must=led.shell)


def _marked(found: Finding, *, must: bool) -> Finding:
    is_warning = found.mark is Mark.FAIL and not must
    return replace(found, mark=Mark.WARN) if is_warning else found


def _without(machine: Machine, *names: str, **more: str) -> Machine:
    others = {
        name: value for name, value in machine.environ.items() if name not in names
    }
    return replace(machine, environ={**others, **more})


# The system's own store


def _curl(machine: Machine, probe: Probe) -> str:
    """Return why curl refuses, "" if it does not."""
    command = [
        "curl",
        "--disable",
        "--silent",
        "--fail",
        "--show-error",
        "--output",
        os.devnull,
    ]
    command += ["--proxy", probe.way.url, "--noproxy", "", "--max-time", "6"]
    if machine.system == "windows":
        command.append("--ssl-no-revoke")  # Windows' TLS asks for a list that no CA of
        # ours has, and which other programs do without
    done = machine.run([*command, f"https://{probe.place}.svg"], timeout=TIMEOUT)
    return brief(done.err.strip().split("\n")[0] or done.last_line) if done.code else ""


def _system(machine: Machine, probe: Probe) -> Finding:
    step = "CA in system"
    if machine.find("curl") is None:
        return Finding(Mark.SKIP, step, "curl is not installed")
    why = _curl(_without(machine, *STORES), probe)
    if not why:
        return Finding(Mark.OK, step, "curl trusts it by the system's store")
    meant = probe.meant or probe.way
    repair = trust_advice.of(
        probe.ca.folder, meant.url, system=machine.system, home=machine.home
    ).sentence
    has_stores = any(machine.environ.get(each) for each in STORES)
    if has_stores and not _curl(machine, probe):
        saw = (
            "the system's store lacks the CA; curl trusts it by this shell's variables"
        )
        return Finding(Mark.WARN, step, saw, repair)
    return Finding(Mark.FAIL, step, f"curl refuses it: {why}", repair)


# Python


def _interpreter(machine: Machine) -> str:
    names = ("python", "py") if machine.system == "windows" else ("python3",)
    return next((name for name in names if machine.find(name)), sys.executable)


def _python(machine: Machine, probe: Probe) -> Iterator[Finding]:
    step = "CA in Python"
    asked = [probe.way.host, str(probe.way.port), probe.host, certifi.where()]
    command = [_interpreter(machine), "-c", PYTHON, *asked]
    done = machine.run(command, timeout=2 * TIMEOUT)
    try:
        results = dict(json.loads(done.out))
    except (ValueError, TypeError):
        yield Finding(Mark.FAIL, step, f"Python failed: {brief(done.last_line)}")
        return
    bundle = str(ca_bundle.path_of(probe.ca.folder))
    why = brief(str(results.get("ssl", "")))
    if why:
        repair = variable(machine, "SSL_CERT_FILE", bundle)
        yield Finding(Mark.FAIL, step, f"ssl and urllib refuse it: {why}", repair)
    else:
        yield Finding(Mark.OK, step, "ssl and urllib trust it")
    names = {"httpx": "SSL_CERT_FILE", "requests": "REQUESTS_CA_BUNDLE"}
    step = "CA in requests"
    refused = [each for each in names if results.get(each)]
    if refused:
        saw = f"{' and '.join(refused)} refuse{'s' if len(refused) == 1 else ''} it: "
        saw += "they read certifi's file unless a variable names another"
        sets = [variable(machine, names[each], bundle) for each in refused]
        yield Finding(Mark.FAIL, step, saw, "; ".join(sets))
        return
    lonely = _lonely(machine, probe.ca, (*names.values(), "CURL_CA_BUNDLE"))
    if lonely:
        saw = (
            f"{lonely} names a file with this CA alone: httpx and requests can verify "
        )
        saw += "no host that is not opened"
        repair = variable(machine, lonely, bundle)
        yield Finding(Mark.WARN, step, saw, repair)
        return
    yield Finding(Mark.OK, step, "httpx and requests would trust it")


def _lonely(machine: Machine, ca: Authority, names: tuple[str, ...]) -> str:
    """Return the variable that names a file with *ca* and nothing else."""
    for name in names:
        value = machine.environ.get(name)
        if value:
            with contextlib.suppress(OSError):
                text = Path(value).read_text(encoding="utf-8", errors="replace")
                if [*read(text)] == [ca.certificate]:
                    return name
    return ""


# Node


def _node(machine: Machine, probe: Probe) -> Finding:
    step = "CA in Node"
    if machine.find("node") is None:
        return Finding(Mark.SKIP, step, "node is not installed")
    results = _ask_node(machine, probe)
    version = brief(str(results.get("version", "")))
    why = brief(str(results.get("error", "")))
    if not why:
        return Finding(Mark.OK, step, f"Node {version} trusts it")
    named = machine.environ.get("NODE_EXTRA_CA_CERTS", "")
    repair = variable(machine, "NODE_EXTRA_CA_CERTS", str(probe.ca.path))
    if results.get("system"):
        options = machine.environ.get("NODE_OPTIONS", "")
        options = f"{options} --use-system-ca".strip()
        with_it = _without(machine, NODE_OPTIONS=options)
        if not _ask_node(with_it, probe).get("error", "?"):
            repair = f"{variable(machine, 'NODE_OPTIONS', options)}, or: {repair}"
    if named and not Path(named).is_file():
        why = f"NODE_EXTRA_CA_CERTS names {brief(named)}, which is not there"
    return Finding(Mark.FAIL, step, f"Node {version} refuses it: {why}", repair)


def _ask_node(machine: Machine, probe: Probe) -> Mapping[str, object]:
    asked = [probe.way.host, str(probe.way.port), probe.host]
    done = machine.run(["node", "-e", NODE, *asked], timeout=TIMEOUT)
    try:
        return dict(json.loads(done.out))
    except (ValueError, TypeError):
        return {"error": done.last_line}
