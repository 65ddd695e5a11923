"""The certificate databases of Chrome and Firefox on Linux, and Firefox on macOS."""

import re
from collections.abc import Iterator
from pathlib import Path

from cryptography import x509

from _check_ca import Authority, fingerprint
from _check_finding import Finding, Mark, install, legible
from _machine import Machine

STEP = "CA in browsers"
TIMEOUT = 3
BROWSERS = ("chromium", "google-chrome", "google-chrome-stable", "chromium-browser")
CHROME = (".pki/nssdb", ".local/share/pki/nssdb", "snap/chromium/current/.pki/nssdb")
FIREFOX = (
    ".mozilla/firefox",
    ".config/mozilla/firefox",
    "snap/firefox/common/.mozilla/firefox",
    ".var/app/org.mozilla.firefox/.mozilla/firefox",
    "Library/Application Support/Firefox/Profiles",
)
FLAGS = re.compile(
    r"^(?P<nickname>.*\S)\s+(?P<flags>[a-zA-Z]*,[a-zA-Z]*,[a-zA-Z]*)\s*$"
)


def databases(home: Path) -> list[Path]:
    """Return the folders of databases that are there."""
    places = [home / each for each in CHROME]
    for each in FIREFOX:
        try:
            places += sorted((home / each).iterdir())
        except OSError:
            continue
    return [each for each in places if (each / "cert9.db").is_file()]


def judge(machine: Machine, ca: Authority, *, must: bool) -> Finding:
    """Return the step's line.

    Args:
        machine: The machine.
        ca: The CA.
        must: Whether a browser's way leads to the proxy, so that lack of trust fails.
    """
    bad = Mark.FAIL if must else Mark.WARN
    mend = install(machine, ca.path.parent)
    if machine.system == "windows":
        saw = "Chrome follows the system's store; Firefox's own is not looked at"
        return Finding(Mark.SKIP, STEP, saw)
    found = databases(machine.home)
    if not found:
        chrome = next((each for each in BROWSERS if machine.find(each)), None)
        if machine.system == "linux" and chrome is not None:
            saw = f"{chrome} is installed and has no database with this CA"
            return Finding(bad, STEP, saw, mend)
        return Finding(Mark.SKIP, STEP, "there is no database of Chrome or Firefox")
    if machine.find("certutil") is None:
        tools = "apt-get install libnss3-tools  # Fedora: nss-tools, macOS: nss"
        saw = f"certutil is not installed; {_count(found)} not looked at"
        return Finding(Mark.SKIP, STEP, saw, tools)
    refused = [(each, why) for each in found if (why := _refuses(machine, each, ca))]
    if not refused:
        return Finding(Mark.OK, STEP, f"{_count(found)} trust{_s(found)} it")
    where, why = refused[0]
    rest = f" ({len(refused)} of {len(found)})" if len(found) > 1 else ""
    return Finding(bad, STEP, f"{_short(machine, where)} {why}{rest}", mend)


def _count(found: list[Path]) -> str:
    return f"{len(found)} NSS database{'' if len(found) == 1 else 's'}"


def _s(found: list[Path]) -> str:
    return "s" if len(found) == 1 else ""


def _short(machine: Machine, path: Path) -> str:
    try:
        return legible(f"~/{path.relative_to(machine.home)}")
    except ValueError:
        return legible(str(path))


def _refuses(machine: Machine, folder: Path, ca: Authority) -> str:
    """Return why the database in *folder* does not trust *ca*, "" if it does."""
    base = ["certutil", "-d", f"sql:{folder}"]
    listed = machine.run([*base, "-L"], timeout=TIMEOUT)
    if listed.code:
        return f"cannot be read: {legible(listed.said)}"
    for nickname, flags in _entries(listed.out):
        shown = machine.run([*base, "-L", "-n", nickname, "-a"], timeout=TIMEOUT)
        if shown.code or not _holds(shown.out, ca):
            continue
        if "C" not in flags.split(",", maxsplit=1)[0]:
            return "has it, but does not trust it for web sites"
        checked = machine.run([*base, "-V", "-n", nickname, "-u", "L"], timeout=TIMEOUT)
        return f"refuses it: {legible(checked.said)}" if checked.code else ""
    return "does not have it"


def _entries(text: str) -> Iterator[tuple[str, str]]:
    """Yield nicknames and flags, what looks like mitmproxy's first."""
    found = [FLAGS.match(line) for line in text.splitlines()]
    pairs = [(each["nickname"], each["flags"]) for each in found if each]
    yield from sorted(pairs, key=lambda pair: "mitm" not in pair[0].lower())


def _holds(text: str, ca: Authority) -> bool:
    try:
        held = x509.load_pem_x509_certificates(text.encode())
    except ValueError:
        return False
    return any(fingerprint(each) == ca.sha256 for each in held)
