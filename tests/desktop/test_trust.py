"""`llm-normalize trust` with real stores: NSS, and Debian's in a mount namespace of its own.

The system's store is never this machine's own, but in CI, where the machine is thrown
away, if it gives root no namespace.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from llm_normalize.desktop.trust import authority
from script_runs import ended
from support import Provider, body_script, server_context

ROOT = Path(__file__).parents[2]
TRUST = [sys.executable, str(ROOT / "scripts" / "run.py"), "trust"]
HELLO = b"<p>the connection is trusted</p>"
BROWSERS = ("--store", "nss", "--store", "firefox")


def run(
    command: list[str], home: Path, **more: str
) -> subprocess.CompletedProcess[str]:
    return ended(
        command,
        env={"PATH": os.environ["PATH"], "HOME": str(home), **more},
        stdin=subprocess.DEVNULL,
    )


def said(command: list[str], home: Path, **more: str) -> str:
    done = run(command, home, **more)
    assert done.returncode == 0, (command, done.stdout, done.stderr)
    return done.stdout


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


@pytest.fixture
def confdir(home: Path) -> Path:
    authority.make(home / ".mitmproxy")
    return home / ".mitmproxy"


@pytest.fixture
def site(confdir: Path) -> Iterator[str]:
    """The address of a TLS server whose certificate the CA has signed."""
    context = server_context(confdir, "mitmproxy", ["http/1.1"])
    hello = body_script(HELLO, content_type="text/html")
    with Provider(context, answer=lambda _: hello) as server:
        yield f"https://localhost:{server.port}/"


def killed_at(command: list[str], home: Path, marker: Path, **more: str) -> None:
    """Start *command*, and kill it and its children once *marker* is there."""
    environ = {"PATH": os.environ["PATH"], "HOME": str(home), **more}
    with subprocess.Popen(
        command,
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    ) as started:
        until = time.monotonic() + 60
        while not marker.exists() and started.poll() is None:
            assert time.monotonic() < until
            time.sleep(0.02)
        os.killpg(started.pid, signal.SIGKILL)
    assert started.returncode == -signal.SIGKILL
    assert marker.exists()


def shim(folder: Path, program: str, word: str, *, before: bool) -> tuple[str, Path]:
    """Return a PATH with a *program* that hangs where one of its arguments is *word*.

    Args:
        folder: Where to make it.
        program: A program that is installed.
        word: "" hangs always.
        before: Whether it hangs before it did its work, or afterwards.
    """
    real = shutil.which(program, path=os.environ["PATH"] + ":/usr/sbin")
    marker = folder / "reached"
    hangs = f'case " $* " in *" {word} "*|*"{word or "-"}"*) touch {marker}; sleep 60;; esac'
    if not word:
        hangs = f"touch {marker}; sleep 60"
    work = f'{real} "$@" || exit $?'
    folder.mkdir()
    (folder / program).write_text(
        "#!/bin/sh\n" + "\n".join([hangs, work] if before else [work, hangs]) + "\n"
    )
    (folder / program).chmod(0o755)
    return f"{folder}:{os.environ['PATH']}", marker


# NSS


def certutil(*given: str) -> str:
    done = ended(["certutil", *given], check=True)
    return done.stdout


@dataclass(frozen=True)
class Database:
    folder: Path

    def do(self, *given: str) -> str:
        return certutil(given[0], "-d", f"sql:{self.folder}", *given[1:])

    def make(self, *more: str) -> None:
        self.folder.mkdir(parents=True)
        certutil("-N", "-d", f"sql:{self.folder}", *(more or ("--empty-password",)))

    def add(self, path: Path, name: str, flags: str = "C,,") -> None:
        self.do("-A", "-n", name, "-t", flags, "-i", str(path))

    def names(self) -> list[str]:
        lines = self.do("-L").splitlines()[4:]
        return [line.rsplit(None, 1)[0] for line in lines if line.strip()]

    def shown(self) -> dict[str, str]:
        """What it holds: its list, and each certificate with its trust."""
        found = {"": self.do("-L")}
        for name in self.names():
            found[name] = self.do("-L", "-n", name) + self.do("-L", "-n", name, "-a")
        return found


@pytest.fixture
def older(tmp_path: Path) -> Path:
    """The certificate of another CA of mitmproxy."""
    authority.make(tmp_path / "older")
    return tmp_path / "older" / "mitmproxy-ca-cert.pem"


@pytest.fixture
def firefox(home: Path, older: Path) -> Database:
    """A profile of Firefox that trusts an older CA of mitmproxy."""
    root = home / ".mozilla" / "firefox"
    database = Database(root / "abcd.default-release")
    database.make()
    database.add(older, "mitmproxy")
    (root / "profiles.ini").write_text(
        "[Profile0]\nName=default-release\nIsRelative=1\nPath=abcd.default-release\n"
    )
    return database


def listing(folder: Path) -> list[str]:
    """Names and rights of all files but mitmproxy's."""
    return [
        f"{path.relative_to(folder)} {path.lstat().st_mode:o}"
        for path in sorted(folder.rglob("*"))
        if ".mitmproxy" not in path.parts
    ]


def test_browsers_trust_it_and_hold_what_they_held_afterwards(
    home: Path, confdir: Path, firefox: Database
) -> None:
    chrome = Database(home / ".pki" / "nssdb")
    before = (listing(home), firefox.shown())
    out = said([*TRUST, "install", "--yes", *BROWSERS], home)
    certificate = authority.load(confdir)
    assert certificate is not None
    assert certificate.fingerprint in out
    for database in (chrome, firefox):
        assert certificate.fingerprint in database.shown()[certificate.name]
        assert f"{certificate.name:60} C,,  \n" in database.do("-L")
    assert said([*TRUST, "status", *BROWSERS], home).count(" trusted ") == 2
    out = said([*TRUST, "remove", "--yes"], home)
    assert "the database that was made for it, too" in out
    assert (listing(home), firefox.shown()) == before
    assert run([*TRUST, "status", *BROWSERS], home).returncode == 1


def test_trust_that_was_taken_from_it_before_is_so_again(
    home: Path, confdir: Path
) -> None:
    chrome = Database(home / ".pki" / "nssdb")
    chrome.make()
    chrome.add(confdir / "mitmproxy-ca-cert.pem", "by hand", ",,")
    before = chrome.shown()
    out = run([*TRUST, "status", "--store", "nss"], home).stdout
    assert "it is there, without trust" in out
    said([*TRUST, "install", "--yes", "--store", "nss"], home)
    assert "C,," in chrome.do("-L")
    said([*TRUST, "remove", "--yes"], home)
    assert chrome.shown() == before


@pytest.mark.usefixtures("confdir")
def test_a_database_that_others_use_by_now_stays(home: Path, older: Path) -> None:
    said([*TRUST, "install", "--yes", "--store", "nss"], home)
    chrome = Database(home / ".pki" / "nssdb")
    chrome.add(older, "theirs")
    out = said([*TRUST, "remove", "--yes"], home)
    assert "others have put something into it" in out
    assert chrome.names() == ["theirs"]


def test_a_database_with_a_password_is_left_as_it_was(
    home: Path, confdir: Path, tmp_path: Path
) -> None:
    chrome = Database(home / ".pki" / "nssdb")
    (tmp_path / "password").write_text("a secret\n")
    chrome.make("-f", str(tmp_path / "password"))
    before = chrome.shown()
    done = run([*TRUST, "install", "--yes", "--store", "nss"], home)
    assert done.returncode == 1
    assert "it has a primary password" in done.stdout
    assert chrome.shown() == before
    assert not (confdir / "normalize" / "trust.json").exists()


@pytest.mark.usefixtures("confdir")
@pytest.mark.parametrize(
    ("word", "before"), [("-N", True), ("-N", False), ("-A", True), ("-A", False)]
)
def test_a_kill_in_the_middle_leaves_nothing_that_remove_does_not_find(
    word: str,
    before: bool,
    home: Path,
    firefox: Database,
    tmp_path: Path,
) -> None:
    was = (listing(home), firefox.shown())
    path, marker = shim(tmp_path / "shim", "certutil", word, before=before)
    install = [*TRUST, "install", "--yes", *BROWSERS]
    killed_at(install, home, marker, PATH=path)
    said([*TRUST, "remove", "--yes"], home)
    assert (listing(home), firefox.shown()) == was
    # Or one goes on instead, and it is as if nothing had happened.
    marker.unlink()
    killed_at(install, home, marker, PATH=path)
    said(install, home)
    said([*TRUST, "remove", "--yes"], home)
    assert (listing(home), firefox.shown()) == was


def browse(site: str, home: Path, profile: Path) -> str:
    flags = ["--headless", "--disable-gpu", f"--user-data-dir={profile}", "--dump-dom"]
    if os.geteuid() == 0:
        flags.append("--no-sandbox")  # it refuses to have one as root
    return run(["chromium", *flags, site], home).stdout


@pytest.mark.parametrize("place", ["", ".pki/nssdb", ".local/share/pki/nssdb"])
def test_chromium_trusts_it_while_it_is_installed(
    place: str, home: Path, site: str, tmp_path: Path
) -> None:
    if place:
        Database(home / place).make()
    hello = HELLO.decode()
    assert hello not in browse(site, home, tmp_path / "first")
    said([*TRUST, "install", "--yes", "--store", "nss"], home)
    assert hello in browse(site, home, tmp_path / "second")
    said([*TRUST, "remove", "--yes"], home)
    assert hello not in browse(site, home, tmp_path / "third")
    assert (home / ".pki").exists() == (place == ".pki/nssdb")


LOCKS = """
import sqlite3, sys
database = sqlite3.connect(sys.argv[1], isolation_level=None)
database.execute(f"BEGIN {sys.argv[2]}")
print("locked", flush=True)
sys.stdin.read()
"""


@contextlib.contextmanager
def holding(program: str, *given: str) -> Iterator[None]:
    """Run a program that holds something until it is over."""
    with subprocess.Popen(
        [sys.executable, "-c", program, *given],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "locked\n"
        yield
        assert holder.stdin is not None
        holder.stdin.close()


@pytest.mark.usefixtures("confdir")
@pytest.mark.parametrize("kind", ["EXCLUSIVE", "IMMEDIATE"])
def test_a_database_that_is_locked_is_said_to_be(
    kind: str, home: Path, firefox: Database
) -> None:
    database = str(firefox.folder / "cert9.db")
    install = [*TRUST, "install", "--yes", "--store", "firefox"]
    for command in (install, [*TRUST, "remove", "--yes"]):
        with holding(LOCKS, database, kind):
            done = run(command, home)
        assert done.returncode == 1
        assert "is locked by another program" in done.stdout
        assert "close the browser, then start this again" in done.stdout
        said(install, home)
    assert "removed" in said([*TRUST, "remove", "--yes"], home)


# The system's store

MOUNTS = """
set -e
mount -t tmpfs tmpfs "$1"
for folder in etc usr/local/share var/lib; do
  mkdir -p "$1/$folder/upper" "$1/$folder/work"
  options="lowerdir=/$folder,upperdir=$1/$folder/upper,workdir=$1/$folder/work"
  mount -t overlay overlay -o "$options" "/$folder"
done
sed -i '15,$ s/^/!/' /etc/ca-certificates.conf
echo ready
read end
"""
"""What Debian's update-ca-certificates and its hooks write to, as layers of memory.

Some of Debian's authorities are as good as all, and are written in a third of the time.
"""

SHOWN = """
import hashlib, os, pathlib, subprocess, sys
for top in ("/etc/ssl/certs", "/usr/local/share/ca-certificates"):
    for path in sorted(pathlib.Path(top).rglob("*")):
        if path.is_symlink():
            print(path, "->", os.readlink(path))
        elif path.is_dir():
            print(path)
        elif path.name != "cacerts":
            mode = oct(path.stat().st_mode)
            print(path, mode, hashlib.sha256(path.read_bytes()).hexdigest())
"""
"""Java's keystore has the time of each change in it: that one is listed by keytool."""

PYTHON = """
import sys, urllib.request
print(urllib.request.urlopen(sys.argv[1], timeout=20).read().decode())
"""


@dataclass(frozen=True)
class System:
    """The system's store.

    Attributes:
        inside: What a command begins with, to see it.
        home: The home of who asks.
    """

    inside: list[str]
    home: Path

    def run(self, *command: str, **more: str) -> subprocess.CompletedProcess[str]:
        return run([*self.inside, *command], self.home, **more)

    def said(self, *command: str) -> str:
        return said([*self.inside, *command], self.home)

    def shown(self) -> str:
        """What is in it: names, rights, links and bytes; Java's keystore as a list."""
        found = self.said(sys.executable, "-c", SHOWN)
        if shutil.which("keytool") and Path("/etc/ssl/certs/java/cacerts").exists():
            keystore = ["-keystore", "/etc/ssl/certs/java/cacerts"]
            listed = self.said("keytool", "-list", *keystore, "-storepass", "changeit")
            # Without the date on which an entry was made.
            prints = [line for line in listed.splitlines() if "SHA-256" in line]
            found += "\n".join(sorted(prints))
        return found

    def clients(self, site: str) -> dict[str, bool]:
        """Which clients trust *site*, by the defaults of the system."""
        address = site.removeprefix("https://").removesuffix("/")
        openssl = ["openssl", "s_client", "-verify_return_error", "-connect", address]
        asked = {
            "curl": self.run("curl", "-sS", "--noproxy", "*", site),
            "python": self.run("/usr/bin/python3", "-c", PYTHON, site),
            "openssl": self.run(*openssl, "-verify_hostname", "localhost"),
        }
        return {name: done.returncode == 0 for name, done in asked.items()}


ON = {"curl": True, "python": True, "openssl": True}
OFF = dict.fromkeys(ON, False)


def reason() -> str:
    """Why this machine's own store has to be used, and may not be."""
    if not Path("/etc/debian_version").exists():
        return "this is no Debian: how its store is written to is not tried here"
    if os.geteuid() != 0:
        return "a mount namespace with the system's folders in it takes root"
    return ""


@pytest.fixture
def system(home: Path, tmp_path: Path) -> Iterator[System]:
    why = reason()
    if why:
        pytest.skip(why)
    layers = tmp_path / "layers"
    layers.mkdir()
    unshare = ["unshare", "--mount", "--propagation", "private"]
    with subprocess.Popen(
        [*unshare, "sh", "-c", MOUNTS, "sh", str(layers)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdin is not None
        assert holder.stderr is not None
        if holder.stdout.readline() == "ready\n":
            inside = ["nsenter", "--target", str(holder.pid), "--mount"]
            made = System(inside, home)
            # Whatever this machine has not taken in yet is not ours.
            made.said("/usr/sbin/update-ca-certificates")  # on root's PATH alone
            yield made
            holder.stdin.close()
        else:
            why = holder.stderr.read().strip()
            if os.environ.get("CI") != "true":
                pytest.skip(f"no mount namespace, and this is not CI: {why}")
            yield System([], home)


def test_the_system_trusts_it_and_is_as_before_afterwards(
    system: System, site: str
) -> None:
    before = system.shown()
    assert system.clients(site) == OFF
    out = system.said(*TRUST, "install", "--yes", "--store", "system")
    assert "system        trusts it now" in out
    assert system.clients(site) == ON
    assert " trusted " in system.said(*TRUST, "status", "--store", "system")
    assert system.shown() != before
    # The same CA once more changes nothing, and makes nobody else its owner.
    assert "trusts it already" in system.said(*TRUST, "install", "--store", "system")
    system.said(*TRUST, "remove", "--yes")
    assert system.clients(site) == OFF
    assert system.shown() == before
    assert "Nothing" in system.said(*TRUST, "remove")


@pytest.mark.parametrize("before", [True, False])
def test_a_kill_in_the_middle_is_undone_in_the_system_too(
    before: bool, system: System, site: str, tmp_path: Path
) -> None:
    was = system.shown()
    path, marker = shim(tmp_path / "shim", "update-ca-certificates", "", before=before)
    install = [*system.inside, *TRUST, "install", "--yes", "--store", "system"]
    killed_at(install, system.home, marker, PATH=path)
    assert system.shown() != was
    marker.unlink()
    remove = [*system.inside, *TRUST, "remove", "--yes"]
    killed_at(remove, system.home, marker, PATH=path)
    system.said(*TRUST, "remove", "--yes")
    assert system.clients(site) == OFF
    assert system.shown() == was


def test_this_machines_own_store_holds_nothing_of_these_tests() -> None:
    names = Path("/usr/local/share/ca-certificates")
    assert not [*names.glob("mitmproxy-ca-*")]
