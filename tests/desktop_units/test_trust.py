import io
import json
import re
import shlex
import shutil
import stat
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from desktop_units.machines import Recorded
from desktop_units.stores import (
    FAILED,
    SYSTEMS,
    Simulated,
    certificates,
    debian,
    digest,
    profile,
    simulated,
)
from llm_normalize.desktop.machine import Machine, Result, System
from llm_normalize.desktop.trust import authority
from llm_normalize.desktop.trust import command as trust
from llm_normalize.desktop.trust.actions import Actions
from llm_normalize.desktop.trust.certificate import Certificate
from llm_normalize.desktop.trust.record import RecordError, TrustRecord
from llm_normalize.desktop.trust.session import BusyError, Refused
from llm_normalize.desktop.trust.status import databases, profiles, stores


@pytest.fixture
def linux(made: list[Path], tmp_path: Path) -> Simulated:
    """A Debian whose user is root, and has a CA."""
    machine = debian(tmp_path)
    at_home(machine, made)
    return machine


@pytest.fixture
def confdir(linux: Simulated) -> Path:
    return linux.home / ".mitmproxy"


@pytest.fixture
def other(made: list[Path]) -> Certificate:
    """Another CA of the same name."""
    return certificates(made[1] / "mitmproxy-ca-cert.pem")[0]


@pytest.fixture
def mine(made: list[Path]) -> Certificate:
    return certificates(made[0] / "mitmproxy-ca-cert.pem")[0]


def start(machine: Machine, *given: str) -> Actions:
    return Actions(trust.parse(given), machine)


def state(machine: Machine, confdir: Path) -> str:
    return stores(machine, confdir)[0].state().state


@pytest.fixture(params=SYSTEMS)
def machine(request: pytest.FixtureRequest, tmp_path: Path) -> Simulated:
    return SYSTEMS[request.param](tmp_path)


@pytest.fixture
def confdir_of(machine: Simulated, made: list[Path]) -> Path:
    return Path(shutil.copytree(made[0], machine.home / ".mitmproxy"))


# Every system, its commands simulated


def test_what_was_installed_is_trusted_and_removed_without_a_trace(
    machine: Simulated, confdir_of: Path
) -> None:
    root = machine.root_folder
    before = digest(root)
    assert state(machine, confdir_of) == "not trusted"
    actions = start(machine, "install", "--yes")
    actions.install()
    assert not actions.failed
    assert state(machine, confdir_of) == "trusted"
    record = confdir_of / "normalize" / "trust.json"
    assert stat.S_IMODE(record.stat().st_mode) == 0o600
    assert stat.S_IMODE(record.parent.stat().st_mode) == 0o700
    actions.remove()
    assert not actions.failed
    assert state(machine, confdir_of) == "not trusted"
    assert [*record.parent.iterdir()] == []
    record.parent.rmdir()
    roots_file = root / "etc/ssl/certs/ca-certificates.crt"
    assert "CERTIFICATE" not in (roots_file.read_text() if roots_file.exists() else "")
    for path in root.rglob("*bundle.pem"):
        assert path.read_text() == ""
    assert digest(root).count("\n") == before.count("\n")


def test_what_is_trusted_already_is_neither_installed_nor_removed(
    machine: Simulated, confdir_of: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    start(machine, "install", "--yes").install()
    (confdir_of / "normalize" / "trust.json").unlink()  # so somebody else did it
    machine.ran.clear()
    actions = start(machine, "install")
    actions.install()  # it has nothing to ask about
    assert not actions.failed
    assert "trusts it already" in capsys.readouterr().out
    actions.remove()
    assert state(machine, confdir_of) == "trusted"
    changing = {"install", "rm", "--store", "--remove"}
    assert not changing & {word for command in machine.ran for word in command}


def test_another_ca_of_the_same_name_is_distinguished(
    machine: Simulated, confdir_of: Path, made: list[Path]
) -> None:
    elsewhere = ("--yes", "--confdir", str(made[1]))
    start(machine, "install", *elsewhere).install()
    assert state(machine, confdir_of) == "stale"
    start(machine, "install", "--yes").install()
    assert state(machine, confdir_of) == "trusted"
    start(machine, "remove", "--yes").remove()
    assert state(machine, confdir_of) == "stale"
    assert state(machine, made[1]) == "trusted"
    start(machine, "remove", *elsewhere).remove()
    assert state(machine, confdir_of) == "not trusted"


def test_what_was_installed_goes_also_after_the_ca_was_made_anew(
    machine: Simulated, confdir_of: Path, made: list[Path]
) -> None:
    start(machine, "install", "--yes").install()
    for path in made[1].glob("mitmproxy-*"):
        shutil.copy(path, confdir_of)
    reported = start(machine, "status").status_data()
    assert reported["stores"][0]["state"] == "stale"
    assert [each["name"] for each in reported["older"]] == ["system"]
    actions = start(machine, "remove", "--yes")
    actions.remove()
    assert not actions.failed
    assert state(machine, confdir_of) == "not trusted"
    assert [*(confdir_of / "normalize").iterdir()] == []


class Killed(BaseException):
    pass


class Dying(Simulated):
    """It is killed when it is about to run one more command than it may."""

    may: int

    def run(
        self, command: Sequence[str], *, text: str = "", timeout: float = 60
    ) -> Result:
        if len(self.ran) == self.may:
            raise Killed
        return super().run(command)


def dying(machine: Simulated, may: int) -> Simulated:
    """Return *machine*, which is killed after *may* commands."""
    made = Dying(**{**vars(machine), "ran": []})
    object.__setattr__(made, "may", may)
    return made


@pytest.mark.parametrize("act", ["install", "remove"])
def test_a_start_that_was_killed_is_undone_wherever_it_was(
    act: str, machine: Simulated, confdir_of: Path
) -> None:
    ends = []
    for number in range(12):
        if act == "remove":
            start(machine, "install", "--yes").install()
        actions = start(dying(machine, number), act, "--yes")
        try:
            getattr(actions, act)()
            ends.append("whole")
        except Killed:
            ends.append("killed")
        actions = start(machine, "remove", "--yes")
        actions.remove()
        assert not actions.failed
        assert state(machine, confdir_of) == "not trusted"
        assert TrustRecord(confdir_of).entries() == []
    assert (ends[0], ends[-1]) == ("killed", "whole")


def test_a_command_that_fails_leaves_nothing_and_says_so(
    machine: Simulated, confdir_of: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    machine.instead.update(dict.fromkeys(("install", "--store"), FAILED))
    actions = start(machine, "install", "--yes")
    actions.install()
    assert actions.failed
    assert "not installed: " in capsys.readouterr().out
    assert TrustRecord(confdir_of).entries() == []
    assert state(machine, confdir_of) == "not trusted"


def test_a_removal_that_fails_is_remembered_and_can_be_done_again(
    machine: Simulated, confdir_of: Path
) -> None:
    start(machine, "install", "--yes").install()
    machine.instead.update(dict.fromkeys(("rm", "--remove"), FAILED))
    actions = start(machine, "remove", "--yes")
    actions.remove()
    assert actions.failed
    assert len(TrustRecord(confdir_of).entries()) == 1
    machine.instead.clear()
    start(machine, "remove", "--yes").remove()
    assert state(machine, confdir_of) == "not trusted"
    assert TrustRecord(confdir_of).entries() == []


# The exact commands


def changes(machine: Recorded) -> list[str]:
    reading = {"-L", "-K"}
    return [" ".join(each) for each in machine.ran if not reading & {*each}]


def both(machine: Simulated) -> list[str]:
    start(machine, "install", "--yes").install()
    start(machine, "remove", "--yes").remove()
    return changes(machine)


COMMANDS = {
    "debian": [
        "install -m 0644 FILE /usr/local/share/ca-certificates/NAME.crt",
        "update-ca-certificates",
        "rm -f /usr/local/share/ca-certificates/NAME.crt",
        "update-ca-certificates --certsconf CONF",
    ],
    "fedora": [
        "sudo install -m 0644 FILE /etc/pki/ca-trust/source/anchors/NAME.pem",
        "sudo update-ca-trust extract",
        "sudo rm -f /etc/pki/ca-trust/source/anchors/NAME.pem",
        "sudo update-ca-trust extract",
    ],
    "arch": ["sudo trust anchor --store FILE", "sudo trust anchor --remove FILE"],
    "suse": [
        "sudo install -m 0644 FILE /etc/pki/trust/anchors/NAME.pem",
        "sudo update-ca-certificates",
        "sudo rm -f /etc/pki/trust/anchors/NAME.pem",
        "sudo update-ca-certificates",
    ],
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_system_gets_exactly_these_commands(
    name: str, tmp_path: Path, made: list[Path], mine: Certificate
) -> None:
    machine: Simulated = SYSTEMS[name](tmp_path)
    file = f"{at_home(machine, made)}/mitmproxy-ca-cert.pem"
    ran = "\n".join(both(machine))
    for value, word in {file: "FILE", mine.name: "NAME", str(tmp_path): ""}.items():
        ran = ran.replace(value, word)
    ran = re.sub(r"(?<=--certsconf )/\S+/ca-certificates\.conf", "CONF", ran)
    assert ran.splitlines() == COMMANDS[name]
    # Debian's hooks (Java's keystore) are told only of what is left out like that.
    left_out = [f"mozilla/One.crt\n!{mine.name}.crt\n"] if name == "debian" else []
    assert machine.inputs == left_out


def at_home(machine: Simulated, made: list[Path]) -> Path:
    return Path(shutil.copytree(made[0], machine.home / ".mitmproxy"))


@pytest.mark.parametrize("act", ["install", "remove", "status"])
@pytest.mark.parametrize("system", ["macos", "windows"])
def test_other_systems_get_the_commands_and_stay_as_they_are(
    system: System, act: str, tmp_path: Path, made: list[Path], mine: Certificate
) -> None:
    machine = simulated(system, tmp_path)
    file = f"{at_home(machine, made)}/mitmproxy-ca-cert.pem"
    before = digest(tmp_path)
    with pytest.raises(
        Refused, match=r"it changes nothing on .*has not been tried"
    ) as e:
        start(machine, act, "--yes").act()
    keychain = "~/Library/Keychains/login.keychain-db"
    added = f"add-trusted-cert -r trustRoot -p ssl -p basic -k {keychain} {file}"
    deleted = f"security delete-certificate -Z {mine.sha1} {keychain}"
    commands = {
        "macos": [
            f"install: security {added}",
            f"status:  security verify-cert -c {file} -p basic -l -L",
            f"remove:  security remove-trusted-cert {file}; {deleted}",
        ],
        "windows": [
            f"install: certutil -user -addstore Root {file}",
            f"status:  certutil -user -store Root {mine.sha1}",
            f"remove:  certutil -user -delstore Root {mine.sha1}",
        ],
    }
    _, *lines = str(e.value).splitlines()
    assert [line.strip() for line in lines] == commands[system]
    assert machine.ran == []
    assert digest(tmp_path) == before


# Linux, closer


def test_another_file_in_that_place_is_left_alone(
    tmp_path: Path, made: list[Path], mine: Certificate, other: Certificate
) -> None:
    machine = SYSTEMS["fedora"](tmp_path)
    at_home(machine, made)
    place = tmp_path / f"etc/pki/ca-trust/source/anchors/{mine.name}.pem"
    place.write_text(other.pem)
    actions = start(machine, "install", "--yes")
    actions.install()
    assert actions.failed
    assert changes(machine) == []
    place.unlink()
    start(machine, "install", "--yes").install()
    place.write_text("mine now")
    start(machine, "remove", "--yes").remove()
    assert place.read_text() == "mine now"


def test_without_root_and_sudo_the_commands_are_reported(
    tmp_path: Path, made: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    machine = debian(tmp_path, root=False)
    at_home(machine, made)
    actions = start(machine, "install", "--yes")
    actions.install()
    assert actions.failed
    out = capsys.readouterr().out
    assert re.search(
        r"as root, install -m 0644 .*; update-ca-certificates$", out, re.MULTILINE
    )
    assert machine.ran == []


def test_root_removes_no_file_that_the_record_makes_up(
    linux: Simulated, confdir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    start(linux, "install", "--yes").install()
    record = confdir / "normalize" / "trust.json"
    given = json.loads(record.read_text())
    given["installed"][0]["place"] = "/etc/passwd"
    record.write_text(json.dumps(given))
    linux.ran.clear()
    actions = start(linux, "remove", "--yes")
    actions.remove()
    assert actions.failed
    assert linux.ran == []
    assert "keeps no certificate at /etc/passwd" in capsys.readouterr().out


def test_a_system_of_an_unknown_kind_is_said_to_be_one(
    tmp_path: Path, made: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    machine = simulated("linux", tmp_path)
    confdir = at_home(machine, made)
    assert state(machine, confdir) == "unknown"
    actions = start(machine, "install", "--yes")
    actions.install()
    assert actions.failed
    out = capsys.readouterr().out
    assert "not known here; mitmproxy's page: https://" in out
    assert f"export SSL_CERT_FILE={confdir}/normalize/ca-bundle.pem" in out
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/debian_version").touch()
    actions.install()
    assert "apt-get install ca-certificates" in capsys.readouterr().out


# What stands beside the bundle, and hooks


class Hooked(Simulated):
    """A Debian with links, Java's keystore, and hooks of its own.

    Attributes:
        heeded: What is made beside the bundle: `links`, `java`.
        says: What the hooks say.
        listed: What keytool says.
    """

    heeded: set[str]
    says: Result
    listed: Result

    def __init__(self, simulated: Simulated) -> None:
        super().__init__(**vars(simulated))
        object.__setattr__(self, "heeded", {"links", "java"})
        object.__setattr__(self, "programs", (*self.programs, "keytool"))
        object.__setattr__(self, "says", Result(0))
        object.__setattr__(self, "listed", Result(0))
        (self.java.parent).mkdir(parents=True)
        self.java.write_bytes(b"\xfe\xed\xfe\xed")
        (self.links / "0a0a0a0a.0").write_text("another")

    @property
    def links(self) -> Path:
        return self.root_folder / "etc/ssl/certs"

    @property
    def java(self) -> Path:
        return self.links / "java/cacerts"

    def run(
        self, command: Sequence[str], *, text: str = "", timeout: float = 60
    ) -> Result:
        if command[0] == "keytool":
            return self.listed
        return super().run(command, text=text, timeout=timeout)

    def update(self, given: list[str]) -> Result:
        super().update(given)
        held = certificates(self.places["bundle"])
        if "links" in self.heeded:
            (self.links / "0b0b0b0b.0").write_text("".join(each.pem for each in held))
        if "java" in self.heeded:
            data = b"".join(each.der for each in held)
            self.java.write_bytes(b"\xfe\xed\xfe\xed" + data)
        return self.says


@pytest.fixture
def hooked(tmp_path: Path, made: list[Path]) -> Hooked:
    machine = Hooked(debian(tmp_path, "sudo", root=False))
    at_home(machine, made)
    return machine


def act(machine: Simulated, name: str, capsys: pytest.CaptureFixture[str]) -> str:
    """Return what is said of the system's store, "ok: " in front if nothing failed."""
    actions = start(machine, name, "--yes")
    capsys.readouterr()
    getattr(actions, name)()
    said = re.findall(r"^system {8}(.*)$", capsys.readouterr().out, re.MULTILINE)[-1]
    return said if actions.failed else f"ok: {said}"


@pytest.mark.parametrize(
    ("heeded", "installed", "removed"),
    [
        (
            "java",
            ("no link points to it in ", "sudo update-ca-certificates --fresh"),
            ("a link still points to it in ", "sudo update-ca-certificates --fresh"),
        ),
        (
            "links",
            ("cacerts lacks the CA: ", "sudo keytool -importcert -noprompt -file "),
            ("cacerts still has the CA: ", "sudo keytool -delete -alias debian:mitm"),
        ),
    ],
)
def test_what_an_update_overlooked_is_a_failure_until_it_is_made_good(
    heeded: str,
    installed: tuple[str, str],
    removed: tuple[str, str],
    hooked: Hooked,
    capsys: pytest.CaptureFixture[str],
) -> None:
    both = {"links", "java"}
    hooked.heeded.intersection_update({heeded})
    said = act(hooked, "install", capsys)
    assert said.startswith("trusts it in part: ")
    assert all(each in said for each in installed)
    assert act(hooked, "status", capsys).startswith("in part")
    hooked.heeded.update(both)
    assert act(hooked, "install", capsys).startswith("ok: trusts it now")
    hooked.heeded.intersection_update({heeded})
    said = act(hooked, "remove", capsys)
    assert said.startswith("not removed: ")
    assert all(each in said for each in removed)
    assert act(hooked, "status", capsys).startswith("in part")
    assert act(hooked, "remove", capsys).startswith("not removed: ")
    hooked.heeded.update(both)
    assert act(hooked, "remove", capsys).startswith("ok: ")
    assert TrustRecord(hooked.home / ".mitmproxy").entries() == []


@pytest.mark.parametrize(
    ("err", "repair"),
    [
        (
            "dpkg: error: dpkg frontend lock was locked by process 7\nNote: a word\n",
            "wait until apt or dpkg has ended, then start this again",
        ),
        (
            "dpkg: error: dpkg was interrupted, you must manually run it\n",
            "sudo dpkg --configure -a; once that is repaired, start this again",
        ),
        ("", "once that is repaired, start this again"),
    ],
)
def test_a_hook_that_failed_is_a_failure_though_the_update_ends_well(
    err: str, repair: str, hooked: Hooked, capsys: pytest.CaptureFixture[str]
) -> None:
    hook = "/etc/ca-certificates/update.d/jks-keystore"
    out = f"Running hooks...\nE: {hook} exited with code 2.\ndone.\n"
    object.__setattr__(hooked, "says", Result(0, out, err))
    for name, begins in (("install", "trusts it in part: "), ("remove", "not removed")):
        said = act(hooked, name, capsys)
        assert said.startswith(begins)
        assert f"its hook failed: {hook} (2)" in said
        assert err.partition("\n")[0] in said
        assert said.endswith(repair)


def test_javas_keystore_is_read_by_keytool_where_there_is_one(
    hooked: Hooked, mine: Certificate, capsys: pytest.CaptureFixture[str]
) -> None:
    def says(outcome: Result) -> None:
        object.__setattr__(hooked, "listed", outcome)

    hooked.heeded.discard("java")
    hooked.java.write_bytes(b"PKCS12")
    says(Result(0, f"Alias: x\n{mine.pem}\n"))
    assert act(hooked, "install", capsys).startswith("ok: trusts it now")
    says(Result(1, "Warning: x\nkeytool error: password was incorrect"))
    said = act(hooked, "status", capsys)
    assert said.startswith("in part")
    assert (
        "cannot be read (keytool error: password was incorrect): see the output" in said
    )
    assert "password was incorrect" in act(hooked, "remove", capsys)
    says(Result(0))
    assert act(hooked, "remove", capsys).startswith("ok: ")


def test_a_bundle_that_has_it_still_is_a_failure_unless_somebody_else_put_it_there(
    linux: Simulated,
    tmp_path: Path,
    mine: Certificate,
    capsys: pytest.CaptureFixture[str],
) -> None:
    start(linux, "install", "--yes").install()
    copy = linux.places["folder"] / "theirs.crt"
    copy.write_text(mine.pem)
    assert act(linux, "remove", capsys).endswith(f"trusted still, by {copy}")
    copy.unlink()
    linux.update([])
    start(linux, "install", "--yes").install()
    bundle = linux.places["bundle"]
    linux.places["bundle"] = tmp_path / "elsewhere"  # so the update changes nothing
    said = act(linux, "remove", capsys)
    assert said.startswith("not removed: ")
    assert f"{bundle} still has the CA" in said
    linux.places["bundle"] = bundle
    assert act(linux, "remove", capsys).startswith("ok: ")


# Browsers


LINUX_PROFILES = (
    ".mozilla/firefox",
    ".config/mozilla/firefox",
    "snap/firefox/common/.mozilla/firefox",
    ".var/app/org.mozilla.firefox/.mozilla/firefox",
    ".var/app/org.mozilla.firefox/config/mozilla/firefox",
)


def test_profiles_of_firefox_are_found(tmp_path: Path) -> None:
    machine = simulated("linux", tmp_path / "machine")
    *first, last = [machine.home / each for each in LINUX_PROFILES]
    for root in first:
        profile(root, ("a.default", "1"))
    outside = tmp_path / "outside"
    profile(last, (str(outside), "0"))
    assert profiles(machine) == [*(root / "a.default" for root in first), outside]
    (outside / "cert9.db").unlink()
    (last / "profiles.ini").write_bytes(b"\xff[Profile0\nPath")
    assert outside not in profiles(machine)


def test_chromes_database_is_made_only_where_there_is_a_chrome(tmp_path: Path) -> None:
    without = simulated("linux", tmp_path / "a")
    assert databases(without) == []
    machine = simulated("linux", tmp_path / "b", "chromium")
    assert databases(machine) == [machine.home / ".pki/nssdb"]
    newer = machine.home / ".local/share/pki/nssdb"
    newer.mkdir(parents=True)
    (newer / "cert9.db").touch()
    assert databases(machine) == [newer]
    snap = machine.home / "snap/chromium/current/.pki/nssdb"
    snap.mkdir(parents=True)
    (snap / "cert9.db").touch()
    assert databases(machine) == [newer, snap]


@pytest.mark.parametrize("name", ["nss", "firefox"])
def test_a_browser_that_was_asked_for_and_is_not_there_is_said_not_to_be(
    linux: Simulated, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    actions = start(linux, "install", "--store", name)
    actions.install()
    assert actions.failed
    assert re.search(
        rf"^{name} +not installed: .*once", capsys.readouterr().out, re.MULTILINE
    )
    start(linux, "status", "--store", name).status()
    assert re.search(
        rf"^{name} +not here .*once", capsys.readouterr().out, re.MULTILINE
    )
    actions = start(linux, "install", "--yes")
    actions.install()
    assert not actions.failed
    assert "not installed" not in capsys.readouterr().out
    installed = replace(linux, programs=(*linux.programs, "firefox"))
    start(installed, "install", "--yes").install()
    assert "nothing to do yet: Firefox has no profile" in capsys.readouterr().out


# The CA and its key


def test_the_ca_is_made_as_mitmproxy_makes_it(tmp_path: Path) -> None:
    confdir = tmp_path / "new"
    confdir.mkdir()
    (confdir / "config.yaml").write_text("key_size: 3072\nnormalize_mode: fix\n")
    made = authority.make(confdir)
    key = made.x509.public_key()
    assert getattr(key, "key_size", 0) == 3072
    assert made == authority.make(confdir)
    for name in authority.KEYS:
        assert stat.S_IMODE((confdir / name).stat().st_mode) == 0o600


def test_a_folder_without_a_certificate_to_read_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "mitmproxy-ca.pem"
    path.write_text("nothing")
    with pytest.raises(authority.AuthorityError, match="holds no certificate"):
        authority.load(tmp_path)
    path.unlink()
    path.mkdir()
    with pytest.raises(authority.AuthorityError, match="cannot be read"):
        authority.load(tmp_path)
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(authority.AuthorityError, match="cannot be read"):
        authority.make(file)
    (tmp_path / "config.yaml").write_text("key_size: many")
    path.rmdir()
    with pytest.raises(authority.AuthorityError, match="no CA can be made"):
        authority.make(tmp_path)


def test_the_certificate_is_the_one_of_the_key_whatever_lies_beside_it(
    confdir: Path, mine: Certificate, other: Certificate
) -> None:
    assert authority.file_of(mine, confdir) == confdir / "mitmproxy-ca-cert.pem"
    (confdir / "mitmproxy-ca-cert.pem").write_text(other.pem)
    assert authority.load(confdir) == mine
    written = authority.file_of(mine, confdir)
    assert written.parent == confdir / "normalize"
    assert certificates(written) == [mine]


def loosen(confdir: Path) -> None:
    (confdir / "mitmproxy-ca.pem").chmod(0o644)
    (confdir / "mitmproxy-ca.p12").chmod(0o640)
    confdir.chmod(0o777)


def test_what_others_can_get_at_is_reported_and_repaired(
    linux: Simulated, confdir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    loosen(confdir)
    reported = start(linux, "status").status_data()["loose"]
    assert [each.rpartition("(")[2] for each in reported] == [
        f"chmod 755 {confdir})",
        f"chmod 600 {confdir}/mitmproxy-ca.pem)",
        f"chmod 600 {confdir}/mitmproxy-ca.p12)",
    ]
    assert authority.loose(replace(linux, system="windows"), confdir) == []
    start(linux, "install", "--yes").install()
    assert "WARNING: " in capsys.readouterr().out
    assert authority.loose(linux, confdir) == []
    assert stat.S_IMODE(confdir.stat().st_mode) == 0o755
    assert stat.S_IMODE((confdir / "mitmproxy-ca.pem").stat().st_mode) == 0o600


# Asking


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_without_a_terminal_nothing_is_done(linux: Simulated) -> None:
    with pytest.raises(Refused, match="--yes"):
        start(linux, "install").install()
    start(linux, "install", "--yes").install()
    with pytest.raises(Refused, match="--yes"):
        start(linux, "remove").remove()
    assert state(linux, linux.home / ".mitmproxy") == "trusted"


@pytest.mark.parametrize(
    ("said", "trusted"), [("y\n", True), ("yes\n", True), ("n\n", False), ("", False)]
)
def test_only_a_yes_is_one(
    linux: Simulated,
    confdir: Path,
    said: str,
    trusted: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal(said))
    try:
        start(linux, "install").install()
    except Refused:
        assert linux.ran == []
    assert (state(linux, confdir) == "trusted") is trusted
    shown = capsys.readouterr().out
    # What is agreed to stands above the question.
    fingerprint = certificates(confdir / "mitmproxy-ca-cert.pem")[0].fingerprint
    above = shown.partition("Go on? [y/N]")[0]
    for needed in (fingerprint, "read and forge", "    update-ca-certificates\n"):
        assert needed in above


# Root by sudo, and two at once


def by_sudo(folder: Path) -> Simulated:
    machine = debian(folder)
    object.__setattr__(machine, "environ", {"SUDO_USER": "somebody"})
    return machine


def test_a_ca_that_no_proxy_uses_is_not_installed_by_sudo(tmp_path: Path) -> None:
    machine = by_sudo(tmp_path)
    for act in ("install", "remove"):
        actions = start(machine, act, "--yes")
        with pytest.raises(authority.AuthorityError) as refused:
            getattr(actions, act)()
        assert "Start it as somebody, without sudo" in str(refused.value)
        assert f"--confdir {machine.home}/.mitmproxy" in str(refused.value)
    assert machine.ran == []
    assert not (machine.home / ".mitmproxy").exists()


def test_who_names_the_folder_may_be_root_by_sudo_and_is_warned(
    tmp_path: Path, made: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    machine = by_sudo(tmp_path)
    confdir = str(at_home(machine, made))
    for act in ("install", "status", "remove"):
        actions = start(machine, act, *YES[act], "--confdir", confdir)
        getattr(actions, act)()
        assert not actions.failed
        assert "WARNING: you are root by sudo: " in capsys.readouterr().out
    object.__setattr__(machine, "environ", {"SUDO_USER": "root"})
    start(machine, "status").status()
    assert "sudo" not in capsys.readouterr().out


YES = {"install": ["--yes"], "status": [], "remove": ["--yes"]}


def test_one_start_at_a_time(linux: Simulated) -> None:
    first, second = (start(linux, "install") for _ in range(2))
    busy = pytest.raises(BusyError, match=r"another `trust` is at work")
    with first.alone(), busy, second.alone():
        pytest.fail("both are at work")
    with second.alone():
        pass


def test_what_trust_itself_says_can_be_typed(
    tmp_path: Path, made: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    machine = debian(tmp_path)
    confdir = tmp_path / "a folder"
    shutil.copytree(made[0], confdir)
    actions = start(machine, "install", "--yes", f"--confdir={confdir}")
    actions.install()
    command = actions.command("remove")
    assert command in capsys.readouterr().out
    _, script, *words = shlex.split(command)
    assert words == ["trust", "remove", "--confdir", str(confdir)]
    assert Path(script).is_file()


# Status, record, command line


def test_status_as_text_and_as_json(
    linux: Simulated, mine: Certificate, capsys: pytest.CaptureFixture[str]
) -> None:
    start(linux, "install", "--yes").install()
    capsys.readouterr()
    actions = start(linux, "status")
    actions.status()
    assert not actions.failed
    text = capsys.readouterr().out
    assert mine.fingerprint in text
    assert re.search(
        r"^system +trusted .*installed by llm_normalize on 2", text, re.MULTILINE
    )
    assert "for you alone" in text
    start(linux, "status", "--json").status()
    reported = json.loads(capsys.readouterr().out)
    assert reported["ca"]["sha256"] == mine.fingerprint
    assert [each["state"] for each in reported["stores"]] == ["trusted"]
    start(linux, "status", "--json", "--store", "nss").status()
    assert json.loads(capsys.readouterr().out)["stores"] == []
    with pytest.raises(SystemExit, match="2"):
        trust.parse(["install", "--json"])


def test_a_damaged_record_stops_what_would_need_it(
    linux: Simulated, confdir: Path
) -> None:
    for text in ("{", '{"installed": [{}]}', '{"installed": [{"store": 1}]}', "[]"):
        (confdir / "normalize").mkdir(exist_ok=True)
        (confdir / "normalize" / "trust.json").write_text(text)
        for act in ("install", "remove"):
            actions = start(linux, act, "--yes")
            with pytest.raises(RecordError, match="damaged"):
                getattr(actions, act)()
    assert changes(linux) == []


def test_what_cannot_be_written_down_is_not_done(
    linux: Simulated, confdir: Path
) -> None:
    (confdir / "normalize").write_text("a file")
    with pytest.raises(RecordError):
        start(linux, "install", "--yes").install()
    assert changes(linux) == []
