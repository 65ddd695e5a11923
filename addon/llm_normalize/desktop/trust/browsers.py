"""Where Chrome, Chromium and Firefox keep the certificates that they are given."""

from __future__ import annotations

import configparser
from collections.abc import Iterator
from pathlib import Path

from ..machine import Machine

CHROMES = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "brave-browser",
    "microsoft-edge",
    "vivaldi",
)


def databases(machine: Machine) -> list[Path]:
    """Return the folders of Chrome's databases; one may have to be made.

    Chromium takes `~/.pki/nssdb` if it is there, else the one below XDG_DATA_HOME
    (seen with Chromium 156).
    """
    home = machine.home
    own = home / ".pki" / "nssdb"
    data = Path(machine.environ.get("XDG_DATA_HOME") or home / ".local" / "share")
    others = [data / "pki" / "nssdb"]
    for pattern in (
        "snap/*/current/.pki/nssdb",
        ".var/app/*/.pki/nssdb",
        ".var/app/*/data/pki/nssdb",
    ):
        others += sorted(home.glob(pattern))
    found = [each for each in (own, *others) if (each / "cert9.db").is_file()]
    if not {own, others[0]} & {*found} and any(map(machine.find, CHROMES)):
        found.insert(0, own)
    return found


def _roots(machine: Machine) -> Iterator[Path]:
    home = machine.home
    yield home / ".mozilla" / "firefox"
    # Newer ones, where the older folder is not there (seen with Firefox 153).
    config = machine.environ.get("XDG_CONFIG_HOME") or home / ".config"
    yield Path(config) / "mozilla" / "firefox"
    yield home / "snap" / "firefox" / "common" / ".mozilla" / "firefox"
    flatpak = home / ".var" / "app" / "org.mozilla.firefox"
    yield flatpak / ".mozilla" / "firefox"
    yield flatpak / "config" / "mozilla" / "firefox"


def profiles(machine: Machine) -> list[Path]:
    """Return the folders of Firefox's profiles that have a database.

    Source: profiles.ini; a path in it is relative to its folder if IsRelative is 1.
    """
    found: list[Path] = []
    for root in _roots(machine):
        listed = configparser.ConfigParser(interpolation=None, strict=False)
        try:
            listed.read(root / "profiles.ini", encoding="utf-8")
        except (configparser.Error, UnicodeDecodeError, OSError):
            continue
        for name in listed.sections():
            path = listed[name].get("Path")
            if name.startswith("Profile") and path:
                relative = listed[name].get("IsRelative", "1") != "0"
                found.append(root / path if relative else Path(path))
    has_one = [each for each in found if (each / "cert9.db").is_file()]
    return list(dict.fromkeys(has_one))
