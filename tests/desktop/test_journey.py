"""From a desktop that knows nothing of the proxy to a repaired stream, and back again."""

import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Error, expect

from desktop.outside import NIM, UNLISTED, Hosts
from desktop.session import ROOT, Session, session
from desktop.test_client_chromium import HTML, assert_it_streams, opened
from ports import free_port


@pytest.fixture
def hosts(tmp_path: Path) -> Iterator[Hosts]:
    with Hosts(tmp_path) as started:
        yield started


@pytest.fixture
def gnome(tmp_path: Path) -> Iterator[Session]:
    with session(tmp_path, "GNOME") as made:
        yield made


def files(home: Path) -> dict[str, bytes]:
    """Return what a program for certificates keeps in *home*."""
    places = (".pki", ".local/share/pki")
    found = [each for place in places for each in (home / place).rglob("*")]
    return {str(each): each.read_bytes() for each in found if each.is_file()}


def trust(gnome: Session, action: str) -> str:
    script = str(ROOT / "scripts" / "run.py")
    words = ("trust", action, "--yes", "--store", "nss")
    return gnome.says(sys.executable, script, *words)


def test_a_desktop_is_led_here_and_back(gnome: Session, hosts: Hosts) -> None:
    before = gnome.says("dconf", "dump", "/system/proxy/"), files(gnome.home)
    script = gnome.home / "hosts.py"
    script.write_text(hosts.script)
    trust(gnome, "install")

    port = free_port()
    options = [f"--set={name}={value}" for name, value in hosts.options.items()]
    arguments = ["--pac", "-p", str(port), "-s", str(script), *options]
    started = gnome.start(*arguments).until_on()

    other = hosts.unlisted.script(b"<p>its own</p>", headers=HTML)
    rules = f"MAP {UNLISTED}:443 127.0.0.1:{hosts.unlisted.port}, MAP {NIM} ~NOTFOUND"
    flag = f"--host-resolver-rules={rules}"  # the desktop has told it all the rest
    with opened(gnome.home / "profile", gnome.environ, flag) as page:
        page.goto(f"http://127.0.0.1:{port}/")
        expect(page.locator("#through")).to_have_text("It goes through the proxy.")
        expect(page.locator("#trusts")).to_have_text("It trusts the proxy's CA.")

        assert_it_streams(page, hosts.nim)
        with pytest.raises(Error, match="ERR_CERT_AUTHORITY_INVALID"):
            page.goto(f"https://{UNLISTED}{other.path}")

    run = [sys.executable, str(ROOT / "scripts" / "run.py")]
    checked = gnome.machine.run([*run, "--check", "-p", str(port)], timeout=60)
    failed = [
        line[5:18] for line in checked.out.splitlines() if line.startswith("FAIL")
    ]
    assert failed == ["CA in system "], (
        checked
    )  # only the browser's store was asked for

    assert started.end(signal.SIGINT) == 0
    assert UNLISTED not in started.said  # it went straight
    trust(gnome, "remove")
    after = gnome.says("dconf", "dump", "/system/proxy/"), files(gnome.home)
    assert after == before
