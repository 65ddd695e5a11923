"""What `run` makes of its arguments, of the port, and of a proxy that is there."""

import importlib.metadata
import os
import re
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from launchers import load
from llm_normalize.desktop.local_server import status
from llm_normalize.desktop.machine import Machine, System
from llm_normalize.desktop.proxy.settings import Target
from llm_normalize.routing.keys import Keys
from llm_normalize.run import command as run_command
from llm_normalize.run import start
from llm_normalize.run.handover import SAYS, UPSTREAM_AUTH
from llm_normalize.run.mitmproxy_options import Listens, Plan, plan
from llm_normalize.run.start import is_taken, obstacle
from llm_normalize.run.startup_summary import Serves, Ways, refusal, startup_summary
from llm_normalize.run.upstream_proxy import (
    Upstream,
    UpstreamProxyError,
    from_environment,
    upstream,
)
from support import Provider, body_script, status_page
from workshop.child import Child

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = str(Path(sys.prefix) / "bin" / "mitmdump")
SCRIPT = str(ROOT / "addon" / "normalize.py")
HOOKS = str(ROOT / "addon" / "llm_normalize" / "run" / "hooks.py")


pytestmark = pytest.mark.usefixtures("signal_handlers")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home without anything in it, on a system without a desktop or a proxy."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in os.environ:
        if name.upper().endswith("_PROXY") or name == "XDG_CURRENT_DESKTOP":
            monkeypatch.delenv(name)
    return tmp_path


# What mitmproxy is going to do


def planned(*arguments: str, program: str = "mitmdump") -> Plan:
    found = plan(program, list(arguments))
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("arguments", "host", "port", "is_own"),
    [
        ([], "", 8080, False),
        (["-p", "8081"], "", 8081, False),
        (["-p8081"], "", 8081, False),
        (["--listen-port=8082"], "", 8082, False),
        (["--set", "listen_port=8083"], "", 8083, False),
        (["--set=listen_port=8083"], "", 8083, False),
        (["--listen-host", "0.0.0.0"], "0.0.0.0", 8080, False),
        (["--set", "listen_host=::1"], "::1", 8080, False),
        (["--mode", "regular@9000"], "", 9000, True),
        (["--mode", "regular@::1:9000"], "::1", 9000, True),
    ],
)
def test_port_is_the_one_that_mitmproxy_takes(
    arguments: list[str], host: str, port: int, is_own: bool
) -> None:
    assert planned(*arguments).listens == (Listens("regular", "", host, port, is_own),)


def test_config_file_counts(home: Path) -> None:
    (home / ".mitmproxy").mkdir()
    (home / ".mitmproxy" / "config.yaml").write_text("listen_port: 8099\n")
    assert planned().listens[0].port == 8099
    assert planned("-p", "8098").listens[0].port == 8098
    other = planned("--set", f"confdir={home / 'other'}")
    assert (other.confdir, other.listens[0].port) == (home / "other", 8080)
    (home / ".mitmproxy" / "config.yaml").write_text("confdir: ~/third\n")
    assert planned().confdir == home / "third"  # where mitmproxy looks for its CA


@pytest.mark.parametrize(
    "arguments",
    [
        ["--no-such-flag"],
        ["--help"],
        ["--version"],
        ["--options"],
        ["-p", "x"],
        ["--mode", "odd"],
        ["--set", "listen_port=x"],
    ],
)
def test_what_does_not_serve_has_no_plan(arguments: list[str]) -> None:
    assert plan("mitmdump", arguments) is None


def test_modes_that_clients_learn_of() -> None:
    assert planned("--mode", "upstream:http://a.example:1").forward is not None
    assert planned("--mode", "reverse:https://a.example").forward is None
    assert planned("--mode", "regular", "--mode", "socks5@1").forward is None
    assert planned("-p", "0").forward is None
    assert planned("-n").listens == ()
    local = planned("--mode", "local:curl")
    assert (local.forward, local.listens[0].port) == (None, None)


# The port


@pytest.fixture
def other() -> Iterator[int]:
    with status_page(version="0.1.0", pid=77) as server:
        yield server.port


def test_port_of_another_llm_normalize_is_reported(other: int) -> None:
    said, _, free = obstacle(planned("-p", str(other))).rpartition(" ")
    assert said == (
        f"port {other} is taken: llm_normalize 0.1.0 is running there already "
        "(process 77); to take another: -p"
    )
    assert int(free) > other
    assert not is_taken("127.0.0.1", int(free))


@pytest.mark.parametrize("body", [b"", b"{", b"[1]", b'{"name": "other"}'])
def test_other_program_is_not_taken_for_one(body: bytes) -> None:
    with Provider(answer=lambda _: body_script(body)) as server:
        assert status("127.0.0.1", server.port) is None
        said = obstacle(planned("-p", str(server.port)))
    assert f"(process {os.getpid()}) listens there" in said


def test_own_port_of_a_mode_is_mended_in_the_mode(other: int) -> None:
    said = obstacle(planned("--mode", f"reverse:https://a.example@{other}"))
    assert "; to take another: --mode reverse:https://a.example@" in said


# What is started


class BecameError(Exception):
    """This process would be mitmproxy now."""


@pytest.fixture(autouse=True)
def became(monkeypatch: pytest.MonkeyPatch) -> None:
    def become(command: list[str], variables: dict[str, str]) -> None:
        raise BecameError(command, variables)

    monkeypatch.setattr(start, "become", become)


def run(*given: str) -> int:
    return run_command.main(given)


def became_of(*given: str) -> tuple[list[str], dict[str, str]]:
    with pytest.raises(BecameError) as caught:
        run(*given)
    command, variables = caught.value.args
    return command, variables


def command(*given: str) -> list[str]:
    return became_of(*given)[0]


def free() -> str:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return str(server.getsockname()[1])


@pytest.mark.parametrize(
    ("given", "made"),
    [
        ([], ["--listen-host", "127.0.0.1"]),
        (["--listen-host", "::1"], []),
        (["--set", "listen_host=::1"], []),
    ],
)
def test_only_this_machine_is_served_unless_asked_otherwise(
    given: list[str], made: list[str]
) -> None:
    port = free()
    handed = ["-s", SCRIPT, *made, "-s", HOOKS, *given, "-p", port]
    assert command(*given, "-p", port) == [PROGRAM, *handed]


def test_listen_host_of_the_config_file_does_not_open_it(home: Path) -> None:
    (home / ".mitmproxy").mkdir()
    (home / ".mitmproxy" / "config.yaml").write_text('listen_host: "0.0.0.0"\n')
    assert "--listen-host" in command("-p", free())


def test_what_mitmproxy_alone_can_say_is_left_to_it() -> None:
    assert command("--", "--help")[-1] == "--help"
    assert command("--options")[-1] == "--options"


def started(*given: str, **variables: str) -> Child:
    """Return run.py, which says what it and mitmproxy say."""
    script = [sys.executable, str(ROOT / "scripts" / "run.py"), *given]
    return Child("run.py", script, env={**os.environ, **variables})


def until(process: Child, text: str) -> list[str]:
    """Wait for a line with *text*, and return the lines from there on."""
    process.find(re.compile(re.escape(text)))
    time.sleep(0.1)  # they come at once
    said = [*process.lines]
    return said[next(at for at, line in enumerate(said) if text in line) :]


@pytest.mark.parametrize("given", [("--listen-host", "::1"), ()])
def test_start_says_what_to_do_next_when_it_listens(given: tuple[str, ...]) -> None:
    proxy = {"HTTPS_PROXY": "http://a:b@corp.example:3128"}
    with started("-p", "0", *given, **proxy) as process:
        until(process, "A proxy was set: corp.example:3128")
        text = "\n".join([*process.lines, ""])
        host = "[::1]" if given else "127.0.0.1"
        place = f"mitmdump listens on {re.escape(host)}:([0-9]+); its home page: "
        found = re.search(place + rf"http://{re.escape(host)}:\1/\n", text)
        assert found is not None, text
        port = int(found[1])
        answer = status(host.strip("[]"), port)
        assert answer is not None
        assert answer.pid == process.pid
        tool = f"python3 {ROOT}/scripts/run.py"
        assert f"\n  one program:  {tool} exec -p {port} -- PROGRAM\n" in text
        assert f"\n  the desktop:  {tool} trust install\n" in text
        assert f"\n  by base URL:  {tool} nvidia (or another provider)\n" in text
        assert f"\n  more:         {ROOT}/README.md\n" in text
        assert process.process is not None
        process.process.terminate()
        assert process.process.wait(30) == 0
    # Nobody has asked the proxy anything until then, and its own page is no answer.
    assert "client connect" not in text
    assert "GET" not in "".join(process.lines)


def test_address_of_mitmwebs_page_is_said_with_its_token() -> None:
    with started("-p", "0", "--web", "--web-port", free()) as process:
        line, *_ = until(process, "flows:")
        assert re.search(r"flows: +http://127.0.0.1:[0-9]+/\?token=\w{32}$", line)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (["--web", "--set", "normalize_mode=foo"], ["expected repair or observe"]),
        # Not https: mitmproxy would listen on UDP, too, and crashes now and then when it
        # exits at once (mitmproxy_rs' threads outlive Python's end).
        (
            [
                "--mode",
                "reverse:http://a.test",
                "--set",
                "normalize_gate=x",
                "--set",
                "normalize_strict=True",
            ],
            ["env:NAME", "did you mean true?"],
        ),
    ],
)
def test_start_that_fails_says_why_and_nothing_of_a_next_step(
    given: list[str], says: list[str]
) -> None:
    with started("-p", free(), *given) as child:
        assert child.process is not None
        assert child.process.wait(60) == 1
    said = "\n".join(child.lines)
    assert [each for each in says if each not in said] == []
    for each in ("Traceback", "home page", "base URL"):
        assert each not in said


@pytest.mark.parametrize(
    ("given", "path", "base"),
    [
        (["nvidia"], "/v1", "https://integrate.api.nvidia.com/v1"),
        (
            ["run", "--provider", "gemini"],
            "/v1beta/openai",
            "https://generativelanguage.googleapis.com/v1beta/openai",
        ),
        (["--provider", "http://a.example:8000/x/"], "/x", "http://a.example:8000/x"),
    ],
)
def test_reverse_proxy_says_its_base_url_when_it_listens(
    given: list[str], path: str, base: str
) -> None:
    with started(*given, "-p", "0") as process:
        first, second, *_ = until(process, "Set your client's base URL to ")
        assert re.fullmatch(rf"Set .* to http://127.0.0.1:[0-9]+{path}", first)
        assert second == f"  It stands for {base}:"


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (["-p", "99999"], "invalid port 99999: expected 1 to 65535"),
        (["-p", "-5"], "invalid port -5"),
        (["--set", "listen_port=65536"], "invalid port 65536"),
        (["--web", "--set", "web_port=99999"], "invalid port 99999"),
        (["--listen-host", "192.0.2.1"], "cannot listen on 192.0.2.1:8080: "),
        (["--web", "--web-host", "192.0.2.1"], "cannot listen on 192.0.2.1:8081"),
        (["-p", "abc"], "arguments: argument --listen-port/-p: invalid int value: 'abc'"),
        (["--no-such"], "unknown flag --no-such\n"),
        (["--sytem-proxy"], "unknown flag --sytem-proxy: did you mean --system-proxy?"),
        (["--pacc"], "unknown flag --pacc: did you mean --pac?"),
        (["--chekc"], "unknown flag --chekc: did you mean --check?"),
        (["--listen-hots", "::1"], "did you mean --listen-host?"),
        (["--upstreem-proxy=http://me:s3cret@a:1"], "did you mean --upstream-proxy?"),
        (["--upstream-proxy", "foo"], "invalid --upstream-proxy: expected http://HOST:PORT"),
        (["--upstream-proxy="], "invalid --upstream-proxy: expected http://HOST:PORT"),
        (["--console"], "--console needs a terminal: start it in one"),
        (["--web", "-p", "8081"], "port 8081 is mitmweb's page here"),
        (["--web", "--web-port", "8080"], "to give the page another: --web-port 808"),
        (["--listen-host", "no.such.invalid"], "use an address of this machine"),
    ],
)  # fmt: skip
def test_what_cannot_start_gets_a_sentence(
    given: list[str], says: str, capsys: pytest.CaptureFixture[str], home: Path
) -> None:
    is_wrong_call = "listen on" not in says and "mitmweb" not in says
    is_wrong_call &= "--web-port" not in says and "address of this" not in says
    assert run(*given) == (2 if is_wrong_call else 1)
    said = capsys.readouterr().err
    assert said.startswith("llm_normalize: ")
    assert says in said
    assert said.count("\n") == 1
    assert "s3cret" not in said
    assert list(home.iterdir()) == []


@pytest.mark.parametrize("given", ["-pac", "-web", "\u2013pac", "\u2014check"])
def test_flag_with_another_dash_is_refused(
    given: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        run(given)
    assert (
        f"unknown flag {given}: did you mean --{given[1:]}?" in capsys.readouterr().err
    )


def test_folder_that_cannot_be_written_gets_a_sentence(
    capsys: pytest.CaptureFixture[str], home: Path
) -> None:
    (home / "file").touch()
    assert run("--set", f"confdir={home / 'file' / 'conf'}", "-p", free()) == 1
    assert "cannot store its CA in " in capsys.readouterr().err
    (home / "conf").mkdir()
    (home / "conf" / "mitmproxy-ca.pem").touch()
    assert run("--set", f"confdir={home / 'conf'}", "-p", free()) == 1
    assert "mitmproxy-ca.pem is empty: remove it" in capsys.readouterr().err
    (home / "conf" / "mitmproxy-ca.pem").write_text("a CA")
    command("--set", f"confdir={home / 'conf'}", "-p", free())


def test_port_for_root_gets_a_sentence(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(_: socket.socket, address: tuple[object, ...]) -> None:
        raise PermissionError(13, "Permission denied", str(address))

    monkeypatch.setattr("socket.socket.bind", refused)
    assert run("-p", "80") == 1
    assert run("--web", "--web-port", "81", "-p", "0") == 1
    first, second = capsys.readouterr().err.splitlines()
    assert "this user may not listen on port 80: that takes root's rights" in first
    assert first.endswith("to take another: -p 8080")
    assert "this user may not listen on port 81" in second
    assert second.endswith("--web-port 8081")


@pytest.mark.parametrize("text", ["- a\n", "listen_port: wide\n"])
def test_config_file_that_mitmproxy_fails_at_gets_a_sentence(
    capsys: pytest.CaptureFixture[str], home: Path, text: str
) -> None:
    (home / ".mitmproxy").mkdir()
    (home / ".mitmproxy" / "config.yaml").write_text(text)
    assert run() == 1
    said = capsys.readouterr().err
    assert f"the config.yaml in {home / '.mitmproxy'}: " in said
    assert run("--restore") == 0
    (home / ".mitmproxy" / "config.yaml").unlink()
    (home / ".mitmproxy" / "config.yaml").symlink_to("/proc/self/mem")
    assert run() == 1
    assert "cannot be read" in capsys.readouterr().err


def test_versions_are_reported_and_nothing_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    script = load("run")
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    assert script.main("--version") == 0
    version = importlib.metadata.version("mitmproxy")
    assert f"\nmitmproxy {version} on Python 3." in capsys.readouterr().out
    monkeypatch.setattr(script._bootstrap, "ROOT", tmp_path)
    assert script.main("-p", "8081", "--version") == 0
    assert capsys.readouterr().out == (
        "llm_normalize 0.1.0\nThe first start makes .venv with mitmproxy.\n"
    )
    assert not list(tmp_path.iterdir())


def test_proxy_of_the_network_is_gone_through(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COMPANY", "http://me:s3cret@corp.example:3128")
    reported, given = became_of("--upstream-proxy", "env:COMPANY", "-p", free())
    assert reported[reported.index("--mode") + 1] == "upstream:http://corp.example:3128"
    assert "s3cret" not in " ".join(reported) + capsys.readouterr().err
    assert given == {SAYS: "mitmdump ", UPSTREAM_AUTH: "me:s3cret"}
    _, given = became_of("--upstream-proxy", "corp.example:3128", "-p", free())
    assert given == {SAYS: "mitmdump "}


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (["--upstream-proxy", "http://a:1", "--mode", "socks5"], "leave --mode out"),
        (["--provider", "nvidia", "--mode", "socks5"], "leave --mode out"),
        (["--provider", "nvidai"], "unknown provider nvidai: did you mean nvidia?"),
        (["--provider", "none"], "unknown provider none: doctor --list prints"),
        (["--provider", "ftp://a/k?key=x"], "invalid --provider: expected a name, or"),
        (["--upstream-proxy", "http://127.0.0.1:9", "-p", "9"], "names this proxy itself"),
        (["--upstream-proxy", "env:NOT_SET"], "the variable NOT_SET is not set"),
        (["--pac", "--mode", "reverse:https://a.example"], "here nothing is switched"),
        (["--system-proxy", "--mode", "local:curl"], "here nothing is switched"),
        (["--pac", "-p", "0"], "here nothing is switched"),
        (["--pac", "--listen-host", "::1"], "--pac needs 127.0.0.1"),
        (["--system-proxy"], "knows nothing of the proxy settings of a system without"),
        (["--check", "--mode", "reverse:https://a.example"], "asks a reverse proxy"),
        (["--check", "-p", "0"], "on a port of its own"),
        (["--check", "--bogus=secret"], "llm_normalize: unknown flag --bogus\n"),
        (["--check", "-p"], "take these arguments: argument --listen-port/-p: expected"),
        (["--check", "--mode", "nonsense"], "take these arguments: unknown mode\n"),
        (["--check", "--provider", "nvidai"], "did you mean nvidia?"),
        (["--check", "--commands"], "mitmdump does not serve with these arguments\n"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_gets_a_sentence(
    given: list[str], says: str, capsys: pytest.CaptureFixture[str], home: Path
) -> None:
    # That there is no desktop is no fault of the call.
    assert run(*given) == (1 if says.endswith("of a system without") else 2)
    said = capsys.readouterr().err
    assert said.startswith("llm_normalize: ")
    assert says in said
    assert said.count("\n") == 1
    assert not (home / ".mitmproxy" / "normalize" / "system-proxy.json").exists()


def test_taken_port_is_refused(other: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("-p", str(other)) == 1
    said = capsys.readouterr().err
    assert f"port {other} is taken: llm_normalize 0.1.0 is running there" in said


def test_state_that_cannot_be_read_is_reported_and_stops_a_switch(
    capsys: pytest.CaptureFixture[str], home: Path
) -> None:
    folder = home / ".mitmproxy" / "normalize"
    folder.mkdir(parents=True)
    (folder / "system-proxy.json").write_text("{")
    assert run("--restore") == 1
    assert "was not written by this program" in capsys.readouterr().err
    command("-p", free())  # what switches nothing goes on
    assert "was not written by this program" in capsys.readouterr().err


# The proxy of the network


def test_password_is_not_taken_from_the_command_line() -> None:
    with pytest.raises(UpstreamProxyError, match="give env:NAME") as caught:
        upstream("http://me:s3cret@a.example:1", {})
    assert "s3cret" not in str(caught.value)
    found = upstream("env:A", {"A": "http://me:p%40ss@a.example:1"})
    assert found == Upstream("http://a.example:1", "me:p@ss")


def test_variables_name_a_proxy() -> None:
    assert from_environment({}) == ""
    assert (
        from_environment({"https_proxy": "http://u:p@a:1", "ALL_PROXY": "b:2"}) == "a:1"
    )
    assert from_environment({"HTTPS_PROXY": "socks5://a:1", "all_proxy": "b:2"}) == ""
    assert from_environment({"all_proxy": "b:2"}) == "b:2"


# What is said


def listening(*arguments: str) -> Plan:
    return planned("--listen-host", "127.0.0.1", *arguments)


def steps(*arguments: str, program: str = "mitmdump", **ways: Any) -> str:
    plan = listening(*arguments)
    return "\n".join(
        startup_summary(program, plan, Ways(**{"system": "linux", **ways}))
    )


def test_steps_fit_the_system() -> None:
    said = steps(settings="GNOME")
    assert "\n                and start with --pac (or --system-proxy)\n" in said
    said = steps(settings="GNOME", is_on=True)
    assert "GNOME's proxy is set to this server, and is restored on exit\n" in said
    assert "--pac" not in said
    assert f"py {ROOT / 'scripts'}" in steps(system="windows", settings="Windows")
    assert " exec -- PROGRAM\n" in steps()
    assert " exec -p 81 -- PROGRAM\n" in steps("-p", "81")


def test_steps_fit_the_mode() -> None:
    reverse = steps("--mode", "reverse:https://a.example", "-p", "81")
    assert reverse.splitlines()[0] == (
        "Set your client's base URL to http://127.0.0.1:81/v1"
    )
    assert "http:// and not https://, no certificate" in reverse
    assert "  Its home page: http://127.0.0.1:81/llm-normalize/" in reverse.splitlines()
    assert "normalize_pace" not in reverse
    nvidia = steps("--mode", "reverse:https://integrate.api.nvidia.com")
    assert "--set normalize_pace=integrate.api.nvidia.com=40/60s\n" in nvidia + "\n"
    plan = listening("--mode", "reverse:https://integrate.api.nvidia.com")
    paced = startup_summary(
        "mitmdump", plan, Ways("linux"), serves=Serves(is_paced=True)
    )
    assert "normalize_pace" not in "".join(paced)
    local = steps("--mode", "local:curl")
    assert local.startswith("mitmdump starts in the mode local\n  trust: ")
    assert startup_summary("mitmdump", listening("-n"), Ways("linux")) == []
    everywhere = startup_summary("mitmdump", planned(), Ways("linux"))[0]
    assert everywhere.endswith(
        "listens on *:8080; its home page: http://127.0.0.1:8080/"
    )
    six = startup_summary("mitmdump", planned("--listen-host", "::1"), Ways("linux"))[0]
    assert six.endswith("home page: http://[::1]:8080/")


def test_steps_fit_what_a_reverse_proxy_asks_of_its_clients(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("KEY", "nvapi-none")
    plan = listening("--mode", "reverse:https://integrate.api.nvidia.com")
    keys = Keys.parse(["integrate.api.nvidia.com=env:KEY"])

    def said(**serves: Any) -> list[str]:
        return startup_summary("mitmdump", plan, Ways("linux"), serves=Serves(**serves))

    plain = "http:// and not https://, no certificate."
    assert said()[2] == f"  the same key, {plain}"
    assert said(keys=keys)[2] == f"  any key (normalize_keys has its own), {plain}"
    lacking = said(has_gate=True)
    assert lacking[2] == f"  a token of normalize_gate as the key, {plain}"
    add = "  --set normalize_keys=integrate.api.nvidia.com=env:NVIDIA_API_KEY"
    assert add in lacking
    team = said(has_gate=True, keys=keys, certificate="llm.example.internal")
    assert team[0].endswith(" to https://llm.example.internal:8080/v1")
    assert "certificate" in team[2]
    assert "http://" not in team[2]
    assert add not in team
    assert said(certificate="")[0].endswith(" to https://127.0.0.1:8080/v1")


INTERNET = r'"HKCU\Software\Microsoft\Windows\CurrentVersion\Internet Settings"'


@pytest.mark.parametrize(
    ("system", "flag", "commands"),
    [
        ("macos", "--pac", ["networksetup -setautoproxyurl Wi-Fi http://127.0.0.1:1/proxy.pac", "networksetup -setautoproxystate Wi-Fi off"]),
        (
            "macos",
            "--system-proxy",
            [
                (
                    "networksetup -setwebproxy Wi-Fi 127.0.0.1 1; "
                    "networksetup -setsecurewebproxy Wi-Fi 127.0.0.1 1"
                ),
                (
                    "networksetup -setwebproxystate Wi-Fi off; "
                    "networksetup -setsecurewebproxystate Wi-Fi off"
                ),
            ],
        ),
        (
            "windows",
            "--pac",
            [
                (
                    f"reg add {INTERNET} /v AutoConfigURL /t REG_SZ /f /d "
                    "http://127.0.0.1:1/proxy.pac"
                ),
                f"reg delete {INTERNET} /v AutoConfigURL /f",
            ],
        ),
        (
            "windows",
            "--system-proxy",
            [
                f"reg add {INTERNET} /v ProxyServer /t REG_SZ /f /d 127.0.0.1:1",
                f"reg add {INTERNET} /v ProxyEnable /t REG_DWORD /f /d 1",
                f"reg add {INTERNET} /v ProxyEnable /t REG_DWORD /f /d 0",
            ],
        ),
    ],
)  # fmt: skip
def test_other_systems_get_the_commands_to_run(
    system: System, flag: str, commands: list[str]
) -> None:
    target = Target("127.0.0.1", 1, pac=flag == "--pac")
    first, *lines = refusal(flag, Machine(system, {}), target).splitlines()
    assert f"{flag} changes nothing on " in first
    assert "has not been tried" in first
    words = [line.removeprefix("  set:").removeprefix("  undo:") for line in lines]
    assert [each.strip() for each in words] == commands
