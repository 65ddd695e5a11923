"""The files of mitmproxy's CA: there, whole, secret, in date, and the ones in use."""

import datetime as dt
import shlex
import stat
from pathlib import Path
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes

from .finding import DEFAULT, Finding, Mark, install, script, start
from .port import Status
from ..machine import Machine

STEP = "CA"
CERTIFICATE = "mitmproxy-ca-cert.pem"
SECRET = ("mitmproxy-ca.pem", "mitmproxy-ca.p12")
"""What holds the key (mitmproxy/certs.py, `create_store`)."""
SOON = dt.timedelta(days=30)


class Authority(NamedTuple):
    """A CA that was read.

    Attributes:
        path: Its certificate.
        certificate: The same.
        sha256: Its fingerprint, `AA:BB:…`.
    """

    path: Path
    certificate: x509.Certificate
    sha256: str


def fingerprint(certificate: x509.Certificate) -> str:
    """Return the SHA-256 of *certificate* as `AA:BB:…`."""
    return certificate.fingerprint(hashes.SHA256()).hex(":").upper()


def read(confdir: Path) -> Authority | None:
    """Return the CA of *confdir*, None if there is none that can be read."""
    path = confdir / CERTIFICATE
    try:
        certificate = x509.load_pem_x509_certificate(path.read_bytes())
    except (OSError, ValueError):
        return None
    return Authority(path, certificate, fingerprint(certificate))


def judge(
    machine: Machine,
    port: int,
    confdir: Path,
    found: Authority | None,
    running: Status | None,
) -> list[Finding]:
    """Return the lines about the files.

    Args:
        machine: The machine.
        port: Where the proxy is to listen.
        confdir: mitmproxy's folder.
        found: The CA in it.
        running: The proxy that runs, if one does.
    """
    begin = start(machine, port, confdir)
    if found is None or not (confdir / SECRET[0]).exists():
        saw = f"{confdir} has no whole CA: mitmproxy makes one at its first start"
        return [Finding(Mark.FAIL, STEP, saw, begin)]
    anew = f"{_remove(machine, confdir)}, {begin}, then "
    anew += install(machine, confdir)
    findings = []
    readable = [] if machine.system == "windows" else _open(confdir)
    if readable:
        names = " ".join(shlex.quote(str(each)) for each in readable)
        saw = f"others may read the CA's key ({', '.join(p.name for p in readable)})"
        findings.append(Finding(Mark.FAIL, STEP, saw, f"chmod 600 {names}"))
    own = _own(confdir)
    if own != found.sha256:
        saw = f"{found.path.name} is not the certificate of {SECRET[0]} beside it"
        findings.append(Finding(Mark.FAIL, STEP, saw, anew))
    ends = found.certificate.not_valid_after_utc
    left = ends - dt.datetime.now(dt.UTC)
    if left <= dt.timedelta(0):
        saw = f"the CA has expired on {ends:%Y-%m-%d}: no client trusts it any more"
        findings.append(Finding(Mark.FAIL, STEP, saw, anew))
    elif left < SOON:
        saw = f"the CA expires on {ends:%Y-%m-%d}"
        findings.append(Finding(Mark.WARN, STEP, saw, anew))
    if running is not None and running.ca_sha256.upper() != found.sha256:
        saw = f"the proxy uses another CA, that of {running.confdir}, not of {confdir}"
        there = [] if port == DEFAULT else ["-p", str(port)]
        there += ["--set", f"confdir={running.confdir}"]
        check = script(machine, "run.py", "--check", *there)
        mend = f"stop that proxy and {begin}, or: {check}"
        findings.append(Finding(Mark.FAIL, STEP, saw, mend))
    if findings:
        return findings
    where = " and in use" if running is not None else ""
    kept = "" if machine.system == "windows" else ", its key yours alone"
    saw = f"{found.path} is there{where}{kept}, until {ends:%Y-%m-%d}, "
    return [Finding(Mark.OK, STEP, f"{saw}SHA-256 {found.sha256[:23]}…")]


def _open(confdir: Path) -> list[Path]:
    """Return the files with the key that others than their owner may read."""
    found = []
    for name in SECRET:
        path = confdir / name
        try:
            mode = stat.S_IMODE(path.stat().st_mode)
        except OSError:
            continue
        if mode & 0o077:
            found.append(path)
    return found


def _own(confdir: Path) -> str:
    """Return the fingerprint of the certificate that is stored with the key."""
    try:
        text = (confdir / SECRET[0]).read_bytes()
        return fingerprint(x509.load_pem_x509_certificates(text)[0])
    except (OSError, ValueError):
        return ""


def _remove(machine: Machine, confdir: Path) -> str:
    if machine.system == "windows":
        return f'del "{confdir}\\mitmproxy-ca*"'
    return f"rm {shlex.quote(str(confdir))}/mitmproxy-ca*"
