"""What an ordinary user does with the service, told to a systemd of his own.

Run as a program by test_service.py, in a session of its own; ends with 0 if all is well.
"""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [
    str(ROOT / each) for each in ("tests", "tests/helpers", "scripts", "addon")
]

from desktop.session import until  # noqa: E402
from desktop.starting import assert_it_repairs, is_open  # noqa: E402
from llm_normalize.desktop.service import unit  # noqa: E402 - from the folders above
from ports import free_port  # noqa: E402
from script_runs import ended  # noqa: E402
from support import Provider  # noqa: E402

HOME = Path.home()
UNIT = HOME / ".config/systemd/user/llm-normalize.service"
PATIENCE = 60
ODD = """it's "50% of" a \\ $HOME ${PATH}"""
SHOWS = """#!{python}
import json, os, sys, time
with open("{out}", "w") as file:
    json.dump([sys.argv, os.environ.get('FROM_A_FILE')], file)
time.sleep(600)
"""


def service(*arguments: str, code: int = 0) -> str:
    script = str(ROOT / "scripts" / "run.py")
    done = ended(
        [sys.executable, script, "service", *arguments], stderr=subprocess.STDOUT
    )
    assert done.returncode == code, done.stdout
    return done.stdout


def systemctl(*arguments: str) -> str:
    done = ended(["systemctl", "--user", *arguments])
    return (done.stdout + done.stderr).strip()


def shown(name: str) -> str:
    return systemctl("show", f"--property={name}", "--value", unit.NAME)


def install_use_and_remove() -> None:
    port = free_port()
    with Provider() as provider:
        secrets = HOME / ".mitmproxy" / "normalize" / "service.env"
        secrets.parent.mkdir(parents=True, mode=0o700)
        secrets.touch(0o600)
        secrets.write_text("KEY=made-up\n")
        mode = f"reverse:http://127.0.0.1:{provider.port}"
        key = f"normalize_keys=127.0.0.1:{provider.port}=env:KEY"
        said = service("install", "-p", str(port), "--mode", mode, "--set", key)
        assert "It runs" in said
        assert shown("UnitFileState") == "enabled"
        assert_it_repairs(port, provider)
        assert f"127.0.0.1:{port} answers" in service("status")

        first = shown("MainPID")
        os.kill(int(first), 9)
        until(lambda: shown("MainPID") not in (first, "0"))
        until(lambda: is_open(port))
        assert shown("NRestarts") == "1"
        assert "restarted 1 times" in service("status")
        assert_it_repairs(port, provider)

        second = shown("MainPID")
        systemctl("reload", unit.NAME)
        time.sleep(1.5)  # mitmproxy looks each second
        assert shown("MainPID") == second
        assert_it_repairs(port, provider)

        other = f"http://127.0.0.1:{provider.port}/"
        service("install", "-p", str(port), "--mode", f"reverse:{other}")
        assert shown("MainPID") != second
        assert_it_repairs(port, provider)

        # A second one of them finds the port taken, and says so.
        service("install", "-p", str(provider.port), "--mode", mode, code=1)
        assert f"--listen-port {port} " in UNIT.read_text()

        systemctl("stop", unit.NAME)
        assert shown("Result") == "success"
        assert shown("ExecMainStatus") == "0"
        log = HOME / ".mitmproxy" / "normalize" / f"pairs-{port}.jsonl"
        ends = [json.loads(line) for line in log.read_text().splitlines()]
        # The kill may have cost the first one's record, and nothing else did.
        assert sum(each["type"] == "flow" for each in ends) in (3, 4)
        systemctl("start", unit.NAME)
        until(lambda: is_open(port))
        service("remove")
    assert not is_open(port)
    assert not UNIT.exists()
    links = HOME / ".config/systemd/user/default.target.wants"
    assert not links.exists() or not list(links.iterdir())
    assert shown("LoadState") == "not-found"


def give_up_on_what_cannot_start() -> None:
    drop_in = UNIT.with_name(f"{unit.NAME}.d") / "quick.conf"
    drop_in.parent.mkdir()
    drop_in.write_text("[Service]\nRestartSec=100ms\n")
    said = service("install", "-p", str(free_port()), "--mode", "nonsense", code=1)
    assert "does not listen" in said
    until(lambda: shown("ActiveState") == "failed")
    assert f"Left in place (not created by llm-normalize): {drop_in}" in service(
        "remove"
    )


def hand_over_every_argument() -> None:
    folder = HOME / ODD.replace("/", "_")
    folder.mkdir()
    program, out = folder / "shows", HOME / "argv"
    program.write_text(SHOWS.format(python=sys.executable, out=out))
    program.chmod(0o755)
    given = [str(program), ODD, "", ";", "%h", "$$", "ä"]
    environment = folder / "[service]*.env"
    environment.write_text("FROM_A_FILE=yes\n")
    listens = unit.Listens("127.0.0.1", 1)
    text = unit.text_of(given, ["/bin/true", ODD], environment, listens)
    UNIT.write_text(text)
    systemctl("daemon-reload")
    systemctl("start", unit.NAME)
    until(lambda: out.exists() and out.read_text())
    assert json.loads(out.read_text()) == [given, "yes"]
    assert systemctl("reload", unit.NAME) == ""
    systemctl("stop", unit.NAME)
    UNIT.unlink()


def main() -> None:
    with (HOME / "systemd.log").open("w") as log:
        systemd = subprocess.Popen(
            [shutil.which("systemd") or "/usr/lib/systemd/systemd", "--user"],
            stdout=log,
            stderr=log,
        )
    try:
        until(
            lambda: systemctl("is-system-running") in ("running", "degraded"),
        )
        install_use_and_remove()
        give_up_on_what_cannot_start()
        hand_over_every_argument()
    finally:
        systemd.terminate()
        systemd.wait(PATIENCE)
    sys.stdout.write("all is well\n")


if __name__ == "__main__":
    main()
