"""`llm-normalize check`, step by step, on machines that are not here."""

import io
import json
import shlex
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from mitmproxy.certs import CertStore

from desktop_units.machines import Recorded
from desktop_units.stores import write_ca
from llm_normalize.check import ca as check_ca
from llm_normalize.check import finding as check_finding
from llm_normalize.check import other_hosts as check_opaque
from llm_normalize.check import own_proxy as check_proxy
from llm_normalize.check import pac as check_pac
from llm_normalize.check import port as check_port
from llm_normalize.check import programs as check_trust
from llm_normalize.check import stream as check_stream
from llm_normalize.check import system_proxy as check_desktop
from llm_normalize.check import variables as check_variables
from llm_normalize.check.finding import Finding, Mark, Report, Way
from llm_normalize.check.programs import Led, Probe
from llm_normalize.demo import provider as demo_provider
from llm_normalize.desktop import local_server
from llm_normalize.desktop.local_server import Answer, Status
from llm_normalize.desktop.machine import Machine, Result, System
from llm_normalize.desktop.processes import Listener
from llm_normalize.desktop.proxy.settings import InForce
from llm_normalize.desktop.proxy.switch import choose
from llm_normalize.desktop.trust import status as trust_status
from llm_normalize.home import trust_advice

WAY = Way("127.0.0.1", 8080, ("integrate.api.nvidia.com", "*.openai.azure.com"))
HERE = "http://127.0.0.1:8080"
CURL, NODE = ("curl",), ("node", "-e")
GNOME = ("gsettings", "get", "org.gnome.system.proxy")
ROOT = Path(__file__).parents[2]
RUN = f"python3 {shlex.quote(str(ROOT / 'scripts' / 'run.py'))}"
INSTALL = f"{RUN} trust install"


@pytest.fixture(autouse=True)
def _alive(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every port be alive, save for those that end in 9."""
    monkeypatch.setattr(local_server, "listens", lambda _, port: port % 10 != 9)


@pytest.fixture(scope="session")
def confdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("home") / ".mitmproxy"
    CertStore.create_store(folder, "mitmproxy", 2048)
    return folder


def only(findings: list[Finding]) -> Finding:
    (finding,) = findings
    return finding


def status(**more: Any) -> Status:
    reported: dict[str, Any] = {
        "version": "1.2",
        "pid": 7,
        "confdir": "/conf",
        "mode": "repair",
        "opens": "listed",
        "hosts": WAY.hosts,
        "ca_sha256": "AA",
        "probe": "check.llm-normalize.invalid/t0",
    }
    return Status(**{**reported, **more})


# -- lines ---------------------------------------------------------------------------


def test_lines_have_marks_mends_and_a_sum(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    out = io.StringIO()
    report = Report(out)
    report.add([Finding(Mark.OK, "port", "it listens")])
    report.add([Finding(Mark.FAIL, "CA", "it has expired", "make one")])
    assert report.end() == 1
    assert out.getvalue().splitlines() == [
        "ok   port           it listens",
        "FAIL CA             it has expired",
        "                    repair: make one",
        "1 of 2 failed; the first to repair: make one",
    ]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("http://me:secret@corp:3128", "http://***@corp:3128"),
        ("me:secret@corp:3128", "***@corp:3128"),
        ("http://token@corp", "http://***@corp"),
        ("http://corp/x.pac?key=secret", "http://corp/x.pac?***"),
        ("http://me:se/cr@et@corp:3128", "http://***@corp:3128"),
        ("http://corp:3128/\x1b[31m", r"http://corp:3128/\x1b[31m"),
    ],
)
def test_no_password_and_no_control_character_is_shown(value: str, shown: str) -> None:
    assert check_finding.masked(value) == shown


# -- the port ------------------------------------------------------------------------


def port(
    machine: Recorded, way: Way, found: Status | None, owner: Listener | None
) -> Finding:
    return check_port.judge(machine, way, machine.home / ".mitmproxy", found, owner)


OURS = ("mitmdump", "-s", "/x/normalize.py")


def test_llm_normalize_is_named_with_its_version() -> None:
    finding = port(Recorded(), WAY, status(), None)
    assert finding.mark is Mark.OK
    assert "127.0.0.1:8080 is llm_normalize 1.2 (repair, pid 7), 2 hosts" in finding.saw


@pytest.mark.parametrize(
    ("number", "repair"),
    [
        (8089, f"python3 {ROOT}/scripts/run.py -p 8089"),
        (8080, f"python3 {ROOT}/scripts/run.py"),
    ],
)
def test_where_nothing_listens_it_is_started(
    number: int, repair: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_server, "listens", lambda *_: False)
    way = replace(WAY, port=number)
    finding = port(Recorded(system="linux"), way, None, None)
    assert (finding.mark, finding.repair) == (Mark.FAIL, repair)
    assert "nothing listens" in finding.saw


@pytest.mark.parametrize(
    ("owner", "saw", "repair"),
    [
        (Listener(4, "nginx", ("nginx",)), "nginx (pid 4) has", "run.py -p 8081"),
        (None, "which the system does not name", "run.py -p 8081"),
        (
            Listener(4, "mitmdump", OURS),
            "which does not answer /status.json",
            f"stop it, then python3 {ROOT}/scripts/run.py",
        ),
        (
            Listener(4, "mitmdump", (*OURS, "--mode", "reverse:https://x")),
            "in reverse mode",
            f"{RUN} doctor http://127.0.0.1:8080/v1",
        ),
    ],
)
def test_another_program_on_the_port_is_named(
    owner: Listener | None, saw: str, repair: str
) -> None:
    finding = port(Recorded(system="linux"), WAY, None, owner)
    assert finding.mark is Mark.FAIL
    assert saw in finding.saw
    assert repair in finding.repair


def test_a_status_of_odd_values_is_read_without_harm(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reported: dict[str, Any] = {"name": "llm_normalize", "version": "1\x1b[2J"}
    reported |= {"pid": "x", "hosts": [1, "a.b"], "probe": "-oevil/../x"}
    reported["counters"] = [1, {"responses": "x"}, {"responses": 2, "repaired": 1}]
    answer = Answer(200, "application/json", json.dumps(reported).encode())
    monkeypatch.setattr(local_server, "fetch", lambda *_: answer)
    found = local_server.status("127.0.0.1", 8080)
    assert found == Status(r"1\x1b[2J", 0, "", "", "", ("a.b",), "", "", 2, 1)


def test_a_command_line_names_what_the_checks_own_proxy_gets() -> None:
    words = (
        "mitmdump --set normalize_skip=role-null --set=normalize_mode=observe "
        "--set normalize_keys=a=env:B normalize_only=false"
    )
    command = words.split()
    counted = ["normalize_skip=role-null", "normalize_mode=observe"]
    assert check_port.options(command) == counted
    assert check_port.skips(command) == ["role-null"]


# -- variables -----------------------------------------------------------------------

LOCAL = "localhost,127.0.0.1,::1"
GOOD = {"HTTPS_PROXY": HERE, "NO_PROXY": LOCAL}


def variables(
    environ: Mapping[str, str], system: System = "linux", **more: Any
) -> list[Finding]:
    return check_variables.judge(Recorded(system=system, environ=environ, **more), WAY)


SET = f"export HTTPS_PROXY={HERE}"
WRONG: list[tuple[dict[str, str], Mark, str]] = [
    (
        {**GOOD, "https_proxy": "http://u:pw@127.0.0.1:8080"},
        Mark.WARN,
        "but https_proxy is http://***@127.0.0.1:8080 -> unset HTTPS_PROXY",
    ),
    (
        {**GOOD, "HTTPS_PROXY": "http://me:pw@127.0.0.1:9999"},
        Mark.FAIL,
        f"http://***@127.0.0.1:9999: nothing listens there -> {SET}, or: unset",
    ),
    ({"https_proxy": "localhost:8081"}, Mark.WARN, "points to another program -> "),
    (
        {"ALL_PROXY": "http://me:pw@corp:3128"},
        Mark.WARN,
        "ALL_PROXY=http://***@corp:3128 points to another proxy -> ",
    ),
    (
        {"HTTPS_PROXY": "socks5://127.0.0.1:8080", "NO_PROXY": LOCAL},
        Mark.FAIL,
        f"this proxy speaks http://, not socks5:// -> {SET}",
    ),
    ({"HTTPS_PROXY": "http://127.0.0.1:x"}, Mark.FAIL, f"'s address -> {SET}"),
    ({"HTTP_PROXY": HERE}, Mark.WARN, f"HTTPS_PROXY is not set -> {SET}"),
    (
        {"HTTPS_PROXY": HERE, "NO_PROXY": f"{LOCAL},.nvidia.com,x.org"},
        Mark.FAIL,
        f"integrate.api.nvidia.com goes past -> export NO_PROXY={LOCAL},x.org",
    ),
    ({"HTTPS_PROXY": HERE, "NO_PROXY": "*"}, Mark.FAIL, f" -> export NO_PROXY={LOCAL}"),
    (
        {"HTTPS_PROXY": HERE, "no_proxy": "localhost, x.org"},
        Mark.WARN,
        "NO_PROXY lacks 127.0.0.1 -> export no_proxy=localhost,x.org,127.0.0.1,::1",
    ),
    (
        {"HTTPS_PROXY": HERE, "HTTP_PROXY": HERE},
        Mark.WARN,
        f"NO_PROXY lacks localhost and 127.0.0.1 -> export NO_PROXY={LOCAL}",
    ),
]


def test_what_env_sets_is_right() -> None:
    both = {"HTTPS_PROXY": HERE, "https_proxy": HERE}
    assert {each.mark for each in variables(both)} == {Mark.OK}


@pytest.mark.parametrize(("environ", "mark", "said"), WRONG)
def test_what_is_wrong_with_variables_is_reported_with_its_repair(
    environ: dict[str, str], mark: Mark, said: str
) -> None:
    finding = only(variables(environ))
    assert finding.mark is mark
    saw, _, repair = said.partition(" -> ")
    assert saw in finding.saw
    assert repair in finding.repair
    assert "pw" not in finding.saw + finding.repair


@pytest.mark.parametrize(
    ("knows", "value", "mark"),
    [(" ok", "1", None), (" ok", "", Mark.WARN), ("", "1", Mark.FAIL)],
)
def test_a_node_that_could_follow_variables_is_advised_to(
    knows: str, value: str, mark: Mark | None
) -> None:
    found = variables(
        {**GOOD, "NODE_USE_ENV_PROXY": value},
        programs=("node",),
        answers={NODE: Result(0, f"v22.1.0{knows}")},
    )
    marks = {each.mark for each in found if "Node" in each.saw}
    assert marks == ({mark} if mark else set())
    if mark is Mark.WARN:
        assert found[-1].repair == "export NODE_USE_ENV_PROXY=1"


@pytest.mark.parametrize(
    ("entry", "host", "does"),
    [
        ("nvidia.com", "integrate.api.nvidia.com", True),
        ("*.nvidia.com", "integrate.api.nvidia.com", True),
        ("nvidia.com:443", "integrate.api.nvidia.com", True),
        ("azure.com", "*.openai.azure.com", True),
        ("idia.com", "integrate.api.nvidia.com", False),
        ("10.0.0.0/8", "integrate.api.nvidia.com", False),
        ("::1", "integrate.api.nvidia.com", False),
    ],
)
def test_no_proxy_is_read_as_clients_read_it(entry: str, host: str, does: bool) -> None:
    assert check_variables.excludes(entry, host) is does


# -- the desktop ---------------------------------------------------------------------


def gnome(**reported: str) -> Recorded:
    values = {
        "": {"mode": "'none'", "autoconfig-url": "''", "ignore-hosts": "@as []"},
        ".http": {"host": "''", "port": "8080", "use-authentication": "false"},
        ".https": {"host": "''", "port": "0"},
    }
    for name, value in reported.items():
        part, _, key = name.rpartition("_")
        values[f".{part}" if part else ""][key.replace("url", "autoconfig-url")] = value
    lines = [
        f"org.gnome.system.proxy{part} {key} {value}\n"
        for part, keys in values.items()
        for key, value in keys.items()
    ]
    return Recorded(
        system="linux",
        environ={"XDG_CURRENT_DESKTOP": "GNOME"},
        answers={
            ("gsettings", "list-keys"): Result(0),
            ("gsettings", "list-recursively"): Result(0, "".join(lines)),
        },
        programs=("gsettings",),
    )


def kde(**reported: str) -> Recorded:
    def answer(command: list[str]) -> Result:
        key = command[command.index("--key") + 1].replace(" ", "_")
        return Result(0, reported.get(key, command[-1]) + "\n")

    return Recorded(
        system="linux",
        environ={"XDG_CURRENT_DESKTOP": "KDE"},
        answers={("kreadconfig5", "--file", "kioslaverc"): answer},
        programs=("kreadconfig5", "kwriteconfig5", "gsettings"),
    )


PAC = f"{HERE}/proxy.pac"
MANUAL = [
    gnome(mode="'manual'", https_host="'127.0.0.1'", https_port="8080"),
    gnome(mode="'manual'", http_host="'127.0.0.1'"),
    kde(ProxyType="1", httpsProxy="http://127.0.0.1 8080"),
]
PACS = [
    gnome(mode="'auto'", url=f"'{PAC}'"),
    kde(ProxyType="2", Proxy_Config_Script=PAC),
]
NONES = [
    gnome(mode="'none'"),
    gnome(mode="'manual'", http_port="0"),
    gnome(mode="'manual'", https_host="'corp'", https_port="0"),
    kde(),
]
AUTOS = [gnome(mode="'auto'", url="''"), kde(ProxyType="3")]


def desktop(machine: Machine, *, has_variables: bool = False) -> Finding:
    found = check_desktop.read(machine)
    return check_desktop.judge(machine, WAY, found, has_variables=has_variables)


@pytest.mark.parametrize("machine", [*MANUAL, *PACS])
def test_a_desktop_that_leads_here_is_ok(machine: Recorded) -> None:
    finding = desktop(machine)
    assert (finding.mark, finding.repair) == (Mark.OK, "")
    assert check_desktop.leads_here(check_desktop.read(machine), WAY)


@pytest.mark.parametrize("machine", [*NONES, *AUTOS])
def test_a_desktop_without_one_is_reported_where_no_variable_leads_here(
    machine: Recorded,
) -> None:
    assert desktop(machine, has_variables=True).mark is Mark.OK
    finding = desktop(machine)
    assert finding.mark is Mark.WARN
    assert "--pac, or: " in finding.repair
    assert not check_desktop.leads_here(check_desktop.read(machine), WAY)


@pytest.mark.parametrize("named", ["XFCE", "sway", "", "KDE"])
def test_a_desktop_that_run_does_not_switch_is_not_read_either(named: str) -> None:
    machine = replace(
        gnome(mode="'manual'", https_host="'127.0.0.1'", https_port="8080"),
        environ={"XDG_CURRENT_DESKTOP": named},
    )
    assert choose(machine) is None
    assert check_desktop.read(machine) is None
    finding = desktop(machine)
    assert finding.repair == f"export HTTPS_PROXY={WAY.url}"
    assert f"(XDG_CURRENT_DESKTOP is {named or 'not set'})" in finding.saw


def test_an_administrator_s_proxy_is_in_force_for_run_and_for_the_check() -> None:
    """The user's database has the same value, which resetting it would not change."""
    machine = gnome(mode="'manual'", https_host="'corp'", https_port="3128")
    listed = machine.answers["gsettings", "list-recursively"]
    unset = gnome().answers["gsettings", "list-recursively"]
    answers = {
        ("env", "GSETTINGS_BACKEND=memory"): unset,
        ("dconf", "dump"): Result(0, "[/]\nmode='manual'\n"),
        ("dconf", "read"): Result(0, "'manual'\n"),
        ("gsettings", "list-recursively"): listed,
    }
    programs = ("gsettings", "dconf")
    machine = replace(machine, programs=programs, answers=machine.answers | answers)
    settings = choose(machine)
    assert settings is not None
    assert settings.read()["org.gnome.system.proxy mode"] is None
    assert settings.current() == InForce("corp:3128")
    assert "GNOME: corp:3128 points to another proxy" in desktop(machine).saw


ELSEWHERE = [
    (
        gnome(mode="'auto'", url="'http://127.0.0.1:9999/proxy.pac'"),
        f"nothing listens there -> none, or: python3 {ROOT}/scripts/run.py -p 9999",
    ),
    (
        kde(ProxyType="1", httpsProxy="http://127.0.0.1 9999"),
        "KDE: 127.0.0.1:9999: nothing listens there -> --key ProxyType 0",
    ),
    (
        gnome(mode="'manual'", https_host="'corp'", https_port="3128"),
        "another proxy -> --system-proxy --upstream-proxy http://corp:3128",
    ),
    (
        gnome(mode="'auto'", url="'http://me:pw@corp/x.pac'"),
        "http://***@corp/x.pac points to another proxy -> run.py --pac",
    ),
    (
        gnome(mode="'auto'", url="'http://127.0.0.1:8081/proxy.pac'"),
        "points to another proxy -> run.py --pac",
    ),
    (
        kde(ProxyType="2", Proxy_Config_Script="http://["),
        "is not an address -> kwriteconfig5",
    ),
]


@pytest.mark.parametrize(("machine", "said"), ELSEWHERE)
def test_a_desktop_that_leads_elsewhere_is_reported_with_the_repair(
    machine: Recorded, said: str
) -> None:
    finding = desktop(machine)
    assert finding.mark is (Mark.WARN if "another proxy" in said else Mark.FAIL)
    saw, _, repair = said.partition(" -> ")
    assert saw in finding.saw
    assert repair in finding.repair
    assert "pw" not in finding.saw + finding.repair


# -- the PAC file --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "mark", "saw"),
    [
        (None, Mark.FAIL, "no answer"),
        (Answer(404, "text/html", b""), Mark.FAIL, "status 404"),
        (Answer(200, "text/plain", b"x"), Mark.FAIL, "comes as text/plain"),
        (Answer(200, check_pac.KIND, b"x"), Mark.OK, "/proxy.pac is served"),
    ],
)
def test_a_pac_file_is_served_as_one_or_fails(
    answer: Answer | None, mark: Mark, saw: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_server, "fetch", lambda *_: answer)
    finding = check_pac.judge(Recorded(system="linux"), WAY)
    assert finding.mark is mark
    assert saw in finding.saw


# -- the CA's files ------------------------------------------------------------------


def ca(machine: Recorded, folder: Path, running: Status | None = None) -> list[Finding]:
    return check_ca.judge(machine, 8080, folder, check_ca.read(folder), running)


LINUX = Recorded(system="linux", environ={})


def test_a_whole_ca_is_ok(confdir: Path) -> None:
    found = check_ca.read(confdir)
    assert found is not None
    finding = only(ca(LINUX, confdir, status(ca_sha256=found.certificate.fingerprint)))
    assert finding.mark is Mark.OK
    assert "in use" in finding.saw
    assert found.certificate.fingerprint[:23] in finding.saw


def test_a_folder_without_a_ca_is_started_with(tmp_path: Path) -> None:
    finding = only(ca(LINUX, tmp_path))
    assert finding.mark is Mark.FAIL
    assert finding.repair == f"python3 {ROOT}/scripts/run.py --set confdir={tmp_path}"


def test_another_folders_ca_in_use_fails(confdir: Path) -> None:
    finding = only(ca(LINUX, confdir, status(ca_sha256="AB:CD", confdir="/other")))
    assert finding.mark is Mark.FAIL
    assert "that of /other" in finding.saw
    assert "run.py check --set confdir=/other" in finding.repair


@pytest.mark.parametrize(
    ("days", "mark", "saw"),
    [(-1, Mark.FAIL, "has expired on"), (5, Mark.WARN, "expires on")],
)
def test_a_ca_that_ends_is_made_anew(
    days: int, mark: Mark, saw: str, tmp_path: Path
) -> None:
    write_ca(tmp_path, -400, days)
    finding = only(ca(LINUX, tmp_path))
    assert finding.mark is mark
    assert saw in finding.saw
    assert finding.repair.startswith(f"rm {tmp_path}/mitmproxy-ca*, ")
    assert finding.repair.endswith(f"{INSTALL} --confdir {tmp_path}")


# -- trust ---------------------------------------------------------------------------

ALL = ("curl", "python3", "node")
TRUSTED = {"ssl": "", "httpx": "", "requests": ""}
VERSION = {"version": "v20.0.0", "system": False}


def trust(
    confdir: Path,
    answers: Mapping[tuple[str, ...], Any],
    *,
    environ: Mapping[str, str] | None = None,
    programs: tuple[str, ...] = ALL,
    led: Led | None = None,
    system: System = "linux",
    root_folder: Path = Path("/nowhere"),
) -> list[Finding]:
    good: dict[tuple[str, ...], Any] = {
        CURL: Result(0),
        ("python3",): Result(0, json.dumps(TRUSTED)),
        NODE: Result(0, json.dumps({"error": "", **VERSION})),
    }
    machine = Recorded(
        system=system,
        home=confdir.parent,
        environ=environ or {},
        root_folder=root_folder,
        programs=programs,
        answers={**good, **answers},
    )
    authority = check_ca.read(confdir)
    assert authority is not None
    probe = Probe(WAY, "check.llm-normalize.invalid/t0", authority)
    return [*check_trust.judge(machine, probe, led or Led(shell=True, desktop=True))]


def test_programs_that_trust_it_are_ok(confdir: Path) -> None:
    found = trust(confdir, {})
    assert [each.mark for each in found] == [Mark.OK] * 4
    assert found[0].saw == "curl trusts it by the system's store"


@pytest.mark.parametrize("system", ["linux", "windows"])
def test_curl_is_asked_for_the_probe_through_the_proxy_alone(
    system: System, confdir: Path
) -> None:
    asked: list[list[str]] = []

    def curl(command: list[str]) -> Result:
        asked.append(command)
        return Result(0)

    python = ("python",) if system == "windows" else ("python3",)
    answers: dict[tuple[str, ...], Any] = {CURL: curl}
    answers[python] = Result(0, json.dumps(TRUSTED))
    trust(confdir, answers, programs=("curl", *python), system=system)
    (command,) = asked
    assert command[-1] == "https://check.llm-normalize.invalid/t0.svg"
    assert command[command.index("--proxy") + 1] == HERE
    assert command[1] == "--disable"  # no .curlrc, which may say --insecure
    assert command[command.index("--noproxy") + 1] == ""
    assert ("--ssl-no-revoke" in command) == (system == "windows")


REFUSED = Result(60, err="curl: (60) SSL certificate problem\nMore: https://curl.se\n")


def test_a_system_that_does_not_trust_it_is_told_what_to_install(confdir: Path) -> None:
    finding = trust(confdir, {CURL: REFUSED})[0]
    said = trust_advice.of(
        confdir, WAY.url, system="linux", home=confdir.parent
    ).sentence
    assert (finding.mark, finding.repair) == (Mark.FAIL, said)
    assert said.startswith(f"{INSTALL}; without a desktop")
    assert finding.saw == "curl refuses it: curl: (60) SSL certificate problem"


def test_curl_that_trusts_by_a_variable_only_is_reported(confdir: Path) -> None:
    turns = iter([REFUSED, Result(0)])
    environ = {"CURL_CA_BUNDLE": "x"}
    answers: dict[tuple[str, ...], Any] = {CURL: lambda _: next(turns)}
    found = trust(confdir, answers, environ=environ)
    assert found[0].mark is Mark.WARN
    assert "by this shell's variables" in found[0].saw


def test_python_that_does_not_trust_it_is_told_which_file_to_name(
    confdir: Path,
) -> None:
    reported = {"ssl": "CERTIFICATE_VERIFY_FAILED", "httpx": "no", "requests": "no"}
    answers: dict[tuple[str, ...], Any] = {
        ("python3",): Result(0, json.dumps(reported)),
        CURL: REFUSED,
    }
    _, plain, more, _ = trust(confdir, answers)
    bundle = confdir / "normalize" / "ca-bundle.pem"
    assert plain.mark is more.mark is Mark.FAIL
    assert plain.repair == f"export SSL_CERT_FILE={bundle}"
    assert more.repair == f"{plain.repair}; export REQUESTS_CA_BUNDLE={bundle}"
    assert "httpx and requests refuse it" in more.saw


def test_a_file_with_this_ca_alone_is_reported(confdir: Path) -> None:
    own = str(confdir / "mitmproxy-ca-cert.pem")
    found = trust(confdir, {}, environ={"REQUESTS_CA_BUNDLE": own})
    assert found[2].mark is Mark.WARN
    assert "can verify no host that is not opened" in found[2].saw
    bundle = confdir / "normalize" / "ca-bundle.pem"
    assert found[2].repair == f"export REQUESTS_CA_BUNDLE={bundle}"


def test_a_node_that_does_not_trust_it_is_told_the_variable(confdir: Path) -> None:
    refused = Result(0, json.dumps({"error": "UNABLE_TO_VERIFY", **VERSION}))
    finding = trust(confdir, {NODE: refused})[3]
    own = confdir / "mitmproxy-ca-cert.pem"
    assert finding.mark is Mark.FAIL
    assert finding.repair == f"export NODE_EXTRA_CA_CERTS={own}"
    environ = {"NODE_EXTRA_CA_CERTS": "/not/there.pem"}
    finding = trust(confdir, {NODE: refused}, environ=environ)[3]
    assert "NODE_EXTRA_CA_CERTS names /not/there.pem, which is not there" in finding.saw
    assert trust(confdir, {NODE: Result(1, err="boom")})[3].saw.endswith("boom")


# -- browsers ------------------------------------------------------------------------

LISTED = """
Certificate Nickname                                         Trust Attributes
                                                             SSL,S/MIME,JAR/XPI

mitmproxy (llm_normalize)                                    {flags}
"""
SHOWN = """
    Fingerprint (SHA-256):
        {fingerprint}
    Certificate Trust Flags:
        SSL Flags:
            Valid CA
            {trust}
        Email Flags:
"""


HOLDS: dict[str, tuple[str, str, str]] = {
    "this": ("Trusted CA", "trusted", "1 NSS database trusts it"),
    "no trust": ("", "not trusted", "not trusted: it is there, without trust"),
    "another": ("Trusted CA", "not trusted", "nssdb: not trusted"),
    "broken": ("", "unknown", "unknown: certutil: some error"),
    "expired": ("Trusted CA", "not trusted", "is not valid now "),
}
"""What a database has, and what is said of it."""


@pytest.mark.parametrize("holds", HOLDS)
def test_a_database_is_reported_as_trust_reports_it(
    holds: str, confdir: Path, tmp_path: Path
) -> None:
    trust, state, saw = HOLDS[holds]
    home = tmp_path / "home"
    place = (tmp_path if holds == "broken" else home / ".local/share") / "pki/nssdb"
    place.mkdir(parents=True)
    (place / "cert9.db").touch()
    environ = {"XDG_DATA_HOME": str(place.parents[1])}
    write_ca(tmp_path, -400, -1 if holds == "expired" else 100)
    own = tmp_path if holds == "expired" else confdir
    authority = check_ca.read(own)
    held = check_ca.read(tmp_path if holds == "another" else own)
    assert authority is not None
    assert held is not None

    def answer(command: list[str]) -> Result:
        if holds == "broken":
            return Result(255, err="some error")
        if "-n" not in command:
            return Result(0, LISTED.format(flags="C,," if trust else ",,"))
        if "-a" in command:
            return Result(0, held.path.read_text("ascii"))
        fingerprint = held.certificate.fingerprint
        return Result(0, SHOWN.format(fingerprint=fingerprint, trust=trust))

    answers: Any = {("/usr/bin/certutil",): answer}
    machine = Recorded("linux", environ, home, programs=("certutil",), answers=answers)
    (store,) = trust_status.browsers(machine, authority.certificate, own)
    assert store.state().state == state
    finding = check_ca.judge_browsers(machine, authority, must=True)
    assert finding.mark is (Mark.OK if holds == "this" else Mark.FAIL)
    assert saw in finding.saw
    shown = place if holds == "broken" else "~/.local/share/pki/nssdb"
    assert finding.saw.startswith(f"{shown}: ") == (holds != "this")
    without = check_ca.judge_browsers(
        replace(machine, programs=()), authority, must=True
    )
    assert without.mark is Mark.SKIP
    assert "apt-get install libnss3-tools" in without.repair
    windows = check_ca.judge_browsers(
        replace(machine, system="windows"), authority, must=True
    )
    assert windows.mark is Mark.SKIP


# -- a stream ------------------------------------------------------------------------


def events(*, repaired: bool) -> list[str]:
    chunks = [*demo_provider.chunks(check_stream.ASKED)]
    if repaired:
        head, *texts, last = chunks
        head["choices"][0]["delta"]["content"] = ""
        for each in texts:
            del each["choices"][0]["delta"]["role"]
        last["choices"][0]["delta"] = {}
        del last["choices"][0]["stop_reason"]
    return [*(f"data: {json.dumps(each)}" for each in chunks), "data: [DONE]"]


@pytest.mark.parametrize(
    ("repaired", "late", "observing", "skips", "mark", "saw", "repair"),
    [
        (True, False, False, [], Mark.OK, "before the second was sent", ""),
        (True, True, False, [], Mark.FAIL, "held back", "without stream_large_bodies"),
        (False, False, True, [], Mark.FAIL, "is observe", "normalize_mode=repair"),
        (False, False, False, [], Mark.FAIL, "unrepaired: ", "own addon/normalize.py"),
        (False, False, False, ["role-null"], Mark.FAIL, "unrepaired", "(role-null)"),
    ],
)
def test_a_stream_is_judged_by_its_events_and_its_first(
    repaired: bool,
    late: bool,
    observing: bool,
    skips: list[str],
    mark: Mark,
    saw: str,
    repair: str,
) -> None:
    got = check_stream.Got(events(repaired=repaired), late)
    finding = check_stream.judge(got, "here", is_observing=observing, skips=skips)
    assert finding.mark is mark
    assert saw in finding.saw
    assert repair in finding.repair


# -- the check's own proxy -----------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("normalize_hosts: [a.b, c.d]", ("a.b", "c.d")),
        ("flow_detail: 0", None),
        ("normalize_hosts: [", None),
        ("x: 2024-13-45", None),
        ("- a", None),
        (None, None),
    ],
)
def test_the_own_proxy_opens_what_the_configuration_says(
    text: str | None, hosts: tuple[str, ...] | None, tmp_path: Path
) -> None:
    if text is not None:
        (tmp_path / "config.yaml").write_text(text, encoding="utf-8")
    found = check_proxy.hosts(tmp_path)
    assert found == hosts if hosts else "integrate.api.nvidia.com" in found


@pytest.mark.parametrize(
    ("opens", "mark", "repair"),
    [
        ("all", Mark.WARN, "normalize_only=true"),
        ("allowed", Mark.WARN, "without allow_hosts"),
        ("listed", Mark.FAIL, "without other scripts"),
    ],
)
def test_a_host_that_cannot_be_reached_or_is_opened_is_reported(
    opens: str, mark: Mark, repair: str, tmp_path: Path
) -> None:
    way = Way("127.0.0.1", 1)  # nothing listens there
    finding = check_opaque.judge(way, tmp_path, opens)
    assert finding.mark is mark
    assert repair in finding.repair
