"""Switching and putting back on systems that are not here: simulated, so never really."""

import copy
import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from desktop_units.machines import Recorded
from desktop_units.proxied import Mac, Registry, Service
from llm_normalize.desktop.machine import Machine, Result
from llm_normalize.desktop.processes import Started
from llm_normalize.desktop.proxy import state as proxy_state
from llm_normalize.desktop.proxy.gnome import LOGIN, Gnome
from llm_normalize.desktop.proxy.gnome import NAMES as GNOME_NAMES
from llm_normalize.desktop.proxy.kde import NAMES as KDE_NAMES
from llm_normalize.desktop.proxy.kde import Kde
from llm_normalize.desktop.proxy.macos import MacOs
from llm_normalize.desktop.proxy.settings import (
    ProxyError,
    Settings,
    Target,
)
from llm_normalize.desktop.proxy.state import started
from llm_normalize.desktop.proxy.switch import restore, switch
from llm_normalize.desktop.proxy.systems import choose, named
from llm_normalize.desktop.proxy.windows import Windows

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


# macOS

OFFICE = Service(
    web=(True, "proxy.corp.example", "3128"),
    secure=(True, "proxy.corp.example", "3128"),
    domains=("*.corp.example", "localhost"),
)
MACS = {
    "fresh": {"Wi-Fi": Service()},
    "office": {"Wi-Fi": OFFICE, "*Thunderbolt Bridge": Service(domains=())},
    "script": {"USB 10/100 LAN": Service(script=(True, "http://wpad/x.pac"))},
    "search": {"Wi-Fi": Service(search=True)},
    "dormant": {
        "Wi-Fi": Service(
            web=(False, "old.example", "81"), script=(False, "http://old/x.pac")
        )
    },
}


@TARGETS
@pytest.mark.parametrize("before", MACS.values(), ids=MACS)
def test_mac_is_as_before(
    before: dict[str, Service], target: Target, tmp_path: Path
) -> None:
    mac = Mac(system="macos", services=copy.deepcopy(before))
    on(MacOs(mac), target, tmp_path)
    for service in mac.services.values():
        assert not service.search
        if target.pac:
            assert service.script == (True, "http://127.0.0.1:8080/proxy.pac")
            continue
        assert service.web == service.secure == (True, "127.0.0.1", "8080")
        assert not service.script[0]
        assert {"localhost", "127.0.0.0/8", "::1"} < {*service.domains, "more"}
    assert off(mac, tmp_path) == []
    assert mac.services == before
    assert not (tmp_path / proxy_state.NAME).exists()


def test_mac_whose_proxy_has_a_password_is_left_alone(tmp_path: Path) -> None:
    mac = Mac(system="macos", services={"Wi-Fi": Service(login=True)})
    with pytest.raises(ProxyError, match="asks for a password"):
        on(MacOs(mac), PLAIN, tmp_path)
    assert not [each for each in mac.ran if each[0].startswith("-set")]
    assert list(tmp_path.iterdir()) == []


def test_mac_is_led_by_a_script_past_a_proxy_with_a_password(tmp_path: Path) -> None:
    mac = Mac(system="macos", services={"Wi-Fi": Service(login=True)})
    on(MacOs(mac), PAC, tmp_path)
    assert mac.services["Wi-Fi"].script == (True, PAC.url)
    assert off(mac, tmp_path) == []
    assert [each.script[0] for each in mac.services.values()] == [False]


def test_mac_service_that_is_gone_does_not_keep_the_others(tmp_path: Path) -> None:
    wifi = Service()
    mac = Mac(system="macos", services={"Office": replace(OFFICE), "Wi-Fi": wifi})
    on(MacOs(mac), PLAIN, tmp_path)
    assert wifi.secure == (True, "127.0.0.1", "8080")
    del mac.services["Office"]
    mac.services["VPN"] = Service(login=True)
    assert off(mac, tmp_path) == []
    assert [mac.services[name].secure[0] for name in ("Wi-Fi", "VPN")] == [False, False]
    assert proxy_state.read(tmp_path) is None


def test_service_that_the_user_changed_stays(tmp_path: Path) -> None:
    mac = Mac(system="macos", services={"Wi-Fi": Service(), "LAN": Service()})
    on(MacOs(mac), PLAIN, tmp_path)
    mac.services["LAN"].secure = (True, "mine.example", "1")
    assert off(mac, tmp_path) == ["securewebproxy LAN"]
    assert mac.services["LAN"].secure == (True, "mine.example", "1")
    assert mac.services["LAN"].web == (False, "", "0")
    assert mac.services["Wi-Fi"] == Service()


# Windows

REGISTRIES = {
    "fresh": {"ProxyEnable": ("REG_DWORD", "0x0"), "User Agent": ("REG_SZ", "x")},
    "empty": {},
    "office": {
        "ProxyEnable": ("REG_DWORD", "0x1"),
        "ProxyServer": ("REG_SZ", "http=a.example:80;https=b.example:81"),
        "ProxyOverride": ("REG_SZ", "*.corp.example;<local>"),
    },
    "script": {
        "AutoConfigURL": ("REG_EXPAND_SZ", "http://wpad/%NAME%.pac"),
        "ProxyOverride": ("REG_SZ", ""),
    },
}


@TARGETS
@pytest.mark.parametrize("before", REGISTRIES.values(), ids=REGISTRIES)
def test_registry_is_as_before(
    before: dict[str, tuple[str, str]], target: Target, tmp_path: Path
) -> None:
    windows = Registry(system="windows", values=dict(before))
    on(Windows(windows), target, tmp_path)
    if target.pac:
        assert windows.values["AutoConfigURL"] == ("REG_SZ", PAC.url)
    else:
        assert windows.values["ProxyServer"] == ("REG_SZ", "127.0.0.1:8080")
        assert windows.values["ProxyEnable"] == ("REG_DWORD", "0x1")
        assert "AutoConfigURL" not in windows.values
        _, override = windows.values["ProxyOverride"]
        assert override.split(";")[-3:] == ["localhost", "127.*", "[::1]"]
    assert windows.reported == 1
    assert off(windows, tmp_path) == []
    assert windows.values == before
    assert windows.reported == 2


def test_proxy_that_the_user_set_in_windows_stays_on(tmp_path: Path) -> None:
    windows = Registry(system="windows", values=dict(REGISTRIES["fresh"]))
    on(Windows(windows), PLAIN, tmp_path)
    windows.values["ProxyServer"] = ("REG_SZ", "mine.example:1")
    assert off(windows, tmp_path) == ["ProxyServer"]
    assert windows.values["ProxyEnable"] == ("REG_DWORD", "0x1")
    assert "ProxyOverride" not in windows.values


def test_letters_that_reg_cannot_print_are_not_lost(tmp_path: Path) -> None:
    odd = {"AutoConfigURL": ("REG_SZ", "http://b\ufffdro/x.pac")}
    windows = Registry(system="windows", values=dict(odd))
    with pytest.raises(ProxyError, match="cannot print"):
        on(Windows(windows), PLAIN, tmp_path)
    assert windows.values == odd


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


def test_exceptions_that_kde_takes_the_other_way_round_are_put_aside() -> None:
    before = dict.fromkeys(KDE_NAMES) | {
        "NoProxyFor": "only.example",
        "ReversedException": "true",
    }
    values = Kde(Recorded("linux", {})).wanted(PLAIN, before)
    assert values["ReversedException"] == "false"
    assert values["NoProxyFor"] == "localhost,127.0.0.0/8,::1"


# GNOME, what its real tools do not show


def test_login_of_another_proxy_is_not_sent_to_this_one() -> None:
    before = dict.fromkeys(GNOME_NAMES) | {LOGIN: "true"}
    assert Gnome(Recorded("linux", {})).wanted(PLAIN, before)[LOGIN] == "false"


# All of them


def crashed(folder: Path, *, written: int) -> Registry:
    """A machine whose switch, or its taking back, came as far as *written* values."""
    windows = Registry(system="windows", values=dict(REGISTRIES["office"]))
    state = on(Windows(windows), PLAIN, folder)
    for name in list(reversed(state.ours))[:written]:
        before = state.before[name]
        if before is None:
            windows.values.pop(name)
        else:
            kind, _, data = before.partition(" ")
            windows.values[name] = (kind, data)
    return windows


@pytest.mark.parametrize("written", range(4))
def test_half_a_change_is_taken_back_whole(tmp_path: Path, written: int) -> None:
    windows = crashed(tmp_path, written=written)
    assert off(windows, tmp_path) == []
    assert windows.values == REGISTRIES["office"]


def test_state_is_there_before_anything_is_changed(tmp_path: Path) -> None:
    class Dead(Windows):
        def write(self, values: object) -> None:
            assert proxy_state.read(tmp_path) is not None
            assert self.machine.values == REGISTRIES["office"]  # type: ignore[attr-defined]
            raise SystemExit

    windows = Registry(system="windows", values=dict(REGISTRIES["office"]))
    with pytest.raises(SystemExit):
        on(Dead(windows), PLAIN, tmp_path)
    assert off(windows, tmp_path) == []
    assert windows.values == REGISTRIES["office"]


def test_own_proxy_is_not_what_was_before(tmp_path: Path) -> None:
    windows = Registry(system="windows", values=dict(REGISTRIES["empty"]))
    on(Windows(windows), PLAIN, tmp_path)
    proxy_state.remove(tmp_path)
    on(Windows(windows), PLAIN, tmp_path)
    off(windows, tmp_path)
    assert windows.values == {}


def test_system_that_does_not_take_a_setting_is_reported(tmp_path: Path) -> None:
    class Deaf(Windows):
        def write(self, values: object) -> None:
            pass

    windows = Registry(system="windows")
    with pytest.raises(
        ProxyError, match="did not take the proxy setting ProxyOverride"
    ):
        on(Deaf(windows), PLAIN, tmp_path)


def test_system_that_does_not_take_it_back_keeps_the_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    windows = Registry(system="windows")
    on(Windows(windows), PLAIN, tmp_path)
    monkeypatch.setattr(Windows, "write", lambda *_: None)
    with pytest.raises(ProxyError, match="did not take back ProxyEnable"):
        off(windows, tmp_path)
    assert (tmp_path / proxy_state.NAME).exists()


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
    switch(Windows(Registry(system="windows")), PLAIN, tmp_path, me, me)
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


def test_other_systems_have_one_kind_of_settings() -> None:
    assert isinstance(choose(Recorded("macos", {})), MacOs)
    assert isinstance(choose(Recorded("windows", {})), Windows)
    with pytest.raises(ProxyError, match="nothing is known"):
        named("Plan 9", Machine())
