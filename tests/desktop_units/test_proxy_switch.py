"""Switching and putting back on desktops that are not here: simulated, so never really."""

import json
import os
from pathlib import Path

import pytest

from desktop_units.machines import Recorded
from desktop_units.proxied import Plasma
from llm_normalize.desktop.machine import Machine, Result
from llm_normalize.desktop.processes import Started, started
from llm_normalize.desktop.proxy import state as proxy_state
from llm_normalize.desktop.proxy.gnome import LOGIN, Gnome
from llm_normalize.desktop.proxy.gnome import NAMES as GNOME_NAMES
from llm_normalize.desktop.proxy.kde import Kde
from llm_normalize.desktop.proxy.settings import ProxyError, Settings, Target
from llm_normalize.desktop.proxy.switch import choose, named, restore, switch

PLAIN = Target("127.0.0.1", 8080, pac=False)
PAC = Target("127.0.0.1", 8080, pac=True)
TARGETS = pytest.mark.parametrize("target", [PLAIN, PAC], ids=["proxy", "pac"])
ME = Started(os.getpid(), 1.0, "me")


def on(settings: Settings, target: Target, folder: Path) -> proxy_state.State:
    return switch(settings, target, folder, ME, ME)


def off(machine: Machine, folder: Path) -> list[str]:
    state = proxy_state.read(folder)
    assert state is not None
    return restore(machine, folder, state)


# A desktop, simulated

DESKTOPS = {
    "fresh": {"ProxyType": "0", "Other": "x"},
    "empty": {},
    "office": {
        "ProxyType": "1",
        "httpProxy": "http://a.example 80",
        "httpsProxy": "http://b.example 81",
        "NoProxyFor": "*.corp.example",
    },
    "script": {"ProxyType": "2", "Proxy Config Script": "http://wpad/x.pac"},
}


def plasma(before: str, folder: Path) -> Plasma:
    return Plasma("linux", {}, folder, values=dict(DESKTOPS[before]))


@TARGETS
@pytest.mark.parametrize("before", DESKTOPS)
def test_desktop_is_as_before(before: str, target: Target, tmp_path: Path) -> None:
    desktop = plasma(before, tmp_path)
    on(Kde(desktop), target, tmp_path)
    if target.pac:
        assert desktop.values["Proxy Config Script"] == PAC.url
    else:
        assert desktop.values["httpsProxy"] == "http://127.0.0.1 8080"
        exceptions = desktop.values["NoProxyFor"].split(",")
        assert exceptions[-3:] == ["localhost", "127.0.0.0/8", "::1"]
    assert off(desktop, tmp_path) == []
    assert desktop.values == DESKTOPS[before]
    assert not (tmp_path / proxy_state.NAME).exists()


def test_proxy_that_the_user_set_meanwhile_stays_on(tmp_path: Path) -> None:
    desktop = plasma("fresh", tmp_path)
    on(Kde(desktop), PLAIN, tmp_path)
    desktop.values["httpsProxy"] = "http://mine.example 1"
    assert off(desktop, tmp_path) == ["httpsProxy"]
    assert desktop.values["httpsProxy"] == "http://mine.example 1"
    assert desktop.values["ProxyType"] == "1"
    assert "NoProxyFor" not in desktop.values


# KDE's newer tools, which are not here


def test_kde_6_has_tools_of_its_own() -> None:
    unset = Result(0, "(this entry is not there)\n")
    tools = ("kreadconfig6", "kwriteconfig6", "gdbus")
    machine = Recorded(
        "linux",
        {"KDE_SESSION_VERSION": "6"},
        programs=(*tools, "kwriteconfig5"),
        answers={(each,): unset for each in tools},
    )
    kde = Kde(machine)
    kde.write({**kde.wanted(PLAIN, kde.read()), "NoProxyFor": None})
    written = [each for each in machine.ran if each[0] == "kwriteconfig6"]
    assert [each[6:] for each in written] == [
        ["httpProxy", "--", "http://127.0.0.1 8080"],
        ["httpsProxy", "--", "http://127.0.0.1 8080"],
        ["NoProxyFor", "--delete"],
        ["ProxyType", "--", "1"],
    ]
    assert machine.ran[-1][0] == "gdbus"  # programs that run are told
    assert "org.kde.KIO.Scheduler.reparseSlaveConfiguration" in machine.ran[-1]


# GNOME, what its real tools do not show


def test_login_of_another_proxy_is_not_sent_to_this_one() -> None:
    before = dict.fromkeys(GNOME_NAMES) | {LOGIN: "true"}
    assert Gnome(Recorded("linux", {})).wanted(PLAIN, before)[LOGIN] == "false"


# All of them


def crashed(folder: Path, *, written: int) -> Plasma:
    """A machine whose switch, or its taking back, came as far as *written* values."""
    desktop = plasma("office", folder)
    state = on(Kde(desktop), PLAIN, folder)
    assert len(state.ours) == 3
    for name in list(reversed(state.ours))[:written]:
        desktop.values[name] = str(state.before[name])
    return desktop


@pytest.mark.parametrize("written", range(4))
def test_half_a_change_is_taken_back_whole(tmp_path: Path, written: int) -> None:
    desktop = crashed(tmp_path, written=written)
    assert off(desktop, tmp_path) == []
    assert desktop.values == DESKTOPS["office"]


def test_state_is_there_before_anything_is_changed(tmp_path: Path) -> None:
    desktop = plasma("office", tmp_path)

    class Dead(Kde):
        def write(self, values: object) -> None:
            assert proxy_state.read(tmp_path) is not None
            assert desktop.values == DESKTOPS["office"]
            raise SystemExit

    with pytest.raises(SystemExit):
        on(Dead(desktop), PLAIN, tmp_path)
    assert off(desktop, tmp_path) == []
    assert desktop.values == DESKTOPS["office"]


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "{}", '{"v": 2}', '{"v": 1, "owner": {}, "proxy": {}}']
)
def test_state_that_is_not_ours_is_named_and_stays(tmp_path: Path, text: str) -> None:
    (tmp_path / proxy_state.NAME).write_text(text)
    with pytest.raises(ProxyError, match="was not written by this program"):
        proxy_state.read(tmp_path)
    assert (tmp_path / proxy_state.NAME).exists()


def test_state_is_for_its_owner_and_has_no_command_line(tmp_path: Path) -> None:
    me = started(os.getpid())
    switch(Kde(plasma("fresh", tmp_path)), PLAIN, tmp_path, me, me)
    path = tmp_path / proxy_state.NAME
    assert path.stat().st_mode & 0o777 == 0o600
    assert [each.name for each in tmp_path.iterdir()] == [path.name]
    read = json.loads(path.read_text())
    assert len(read["owner"]["command"]) == 64
    assert me.is_running


def test_lock_is_held_by_one(tmp_path: Path) -> None:
    with proxy_state.locked(tmp_path) as first:
        assert first
        with proxy_state.locked(tmp_path) as second:
            assert not second
    with proxy_state.locked(tmp_path) as third:
        assert third


# Choosing


@pytest.mark.parametrize(
    ("desktop", "programs", "code", "found"),
    [
        ("ubuntu:GNOME", ("gsettings",), 0, "GNOME"),
        ("X-Cinnamon", ("gsettings",), 0, "GNOME"),
        ("GNOME", ("gsettings",), 1, None),
        ("GNOME", (), 0, None),
        ("KDE", ("kwriteconfig6", "kreadconfig6"), 0, "KDE"),
        ("KDE", ("kwriteconfig5", "kreadconfig5", "gsettings"), 0, "KDE"),
        ("KDE", ("kwriteconfig6",), 0, None),
        ("XFCE", ("gsettings", "kwriteconfig6", "kreadconfig6"), 0, None),
        ("", ("gsettings",), 0, None),
    ],
)
def test_desktop_is_known_by_its_name_and_its_tools(
    desktop: str, programs: tuple[str, ...], code: int, found: str | None
) -> None:
    machine = Recorded(
        "linux",
        {"XDG_CURRENT_DESKTOP": desktop},
        programs=programs,
        answers={("gsettings",): Result(code)},
    )
    settings = choose(machine)
    assert (settings.name if settings else None) == found
    if settings:
        assert type(named(settings.name, machine)) is type(settings)
