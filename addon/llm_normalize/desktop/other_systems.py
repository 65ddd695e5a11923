"""The commands for macOS and Windows, as text for the user to run: the tools change nothing there.

None of this has run on these systems.
"""

from __future__ import annotations

import plistlib
import subprocess
from collections.abc import Sequence
from pathlib import Path

from ..home import trust_advice
from ..text.command_line import quoted
from .machine import System
from .proxy.settings import Target
from .trust.certificate import Certificate

_NAMES = {"macos": "macOS", "windows": "Windows"}
_KEY = r'"HKCU\Software\Microsoft\Windows\CurrentVersion\Internet Settings"'
LABEL = "llm-normalize"
OFF = {
    "macos": f"launchctl bootout gui/$(id -u)/{LABEL}",
    "windows": f"Stop-ScheduledTask {LABEL}; Unregister-ScheduledTask {LABEL}",
}
"""What ends it, and takes it away."""


def trust(system: System, confdir: Path, certificate: Certificate) -> str:
    """What to do for each act of `trust`; programs that ask the system trust the CA then."""
    path = str(confdir / trust_advice.CERTIFICATE)
    file = quoted(path, system=system)
    if system == "macos":
        keychain = f"~/{'/'.join(trust_advice.KEYCHAIN)}"
        status = f"security verify-cert -c {file} -p basic -l -L"
        remove = (
            f"security remove-trusted-cert {file}; "
            f"security delete-certificate -Z {certificate.sha1} {keychain}"
        )
    else:
        status = f"certutil -user -store Root {certificate.sha1}"
        remove = f"certutil -user -delstore Root {certificate.sha1}"
    return (
        f"it changes nothing on {_NAMES[system]}, where it has not been tried. Run these "
        "yourself (Firefox 120 and newer use the system's roots, too):\n"
        f"  install: {trust_advice.by_system(path, system)}\n"
        f"  status:  {status}\n"
        f"  remove:  {remove}"
    )


def proxy(flag: str, system: System, target: Target) -> str:
    """What to do in place of a *flag* that leads the system's programs to *target*."""
    if system == "macos":
        now = "scutil --proxy; for Wi-Fi write your network service, if it is another"
        kinds = ("autoproxy",) if target.pac else ("webproxy", "securewebproxy")
        given = f"Wi-Fi {target.host} {target.port}"
        on = (
            f"networksetup -setautoproxyurl Wi-Fi {target.url}"
            if target.pac
            else "; ".join(f"networksetup -set{kind} {given}" for kind in kinds)
        )
        off = "; ".join(f"networksetup -set{kind}state Wi-Fi off" for kind in kinds)
    else:
        now = f"reg query {_KEY}"
        switch = f"reg add {_KEY} /v ProxyEnable /t REG_DWORD /f /d"
        on = f"reg add {_KEY} /v ProxyServer /t REG_SZ /f /d {target.place}\n"
        on, off = f"{on}        {switch} 1", f"{switch} 0"
        if target.pac:
            on = f"reg add {_KEY} /v AutoConfigURL /t REG_SZ /f /d {target.url}"
            off = f"reg delete {_KEY} /v AutoConfigURL /f"
    return (
        f"{flag} changes nothing on {_NAMES[system]}, where it has not been tried. Start "
        f"without it, and run these yourself (what is set now: {now}):\n"
        f"  set:  {on}\n"
        f"  undo: {off}"
    )


def launchd(command: Sequence[str], home: Path) -> str:
    """Instructions for macOS, with the property list for launchd."""
    folder = home / "Library"
    log = str(folder / "Logs" / f"{LABEL}.log")
    # launchd.plist(5); KeepAlive: again after a crash, not after a clean end.
    agent = {
        "Label": LABEL,
        "ProgramArguments": list(command),
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
        "ThrottleInterval": 10,
        "Umask": 0o077,
        "EnvironmentVariables": {"PYTHONUNBUFFERED": "1", "PYTHONUTF8": "1"},
        "StandardOutPath": log,
        "StandardErrorPath": log,
    }
    path = folder / "LaunchAgents" / f"{LABEL}.plist"
    return (
        f"It writes systemd units only. On macOS (not tried), put this in\n{path}\n\n"
        f"{plistlib.dumps(agent).decode()}\n"
        f'on:  launchctl bootstrap gui/$(id -u) "{path}"\n'
        f"off: {OFF['macos']}\n"
        f"log: {log}"
    )


def task(command: Sequence[str]) -> str:
    """Instructions for Windows, with the lines for the Task Scheduler."""
    line = subprocess.list2cmdline(command)
    escaped = line.replace("'", "''")
    program, arguments = escaped.partition(" ")[::2]
    if escaped.startswith('"'):
        program, _, arguments = escaped[1:].partition('" ')
    return (
        "It writes systemd units only. On Windows (not tried), in PowerShell:\n\n"
        f"$do = New-ScheduledTaskAction -Execute '{program}' -Argument '{arguments}'\n"
        "$when = New-ScheduledTaskTrigger -AtLogOn -User $env:USERNAME\n"
        "$how = New-ScheduledTaskSettingsSet -RestartCount 3 -RestartInterval "
        "(New-TimeSpan -Minutes 1) -ExecutionTimeLimit 0\n"
        f"Register-ScheduledTask {LABEL} -Action $do -Trigger $when -Settings $how\n"
        f"Start-ScheduledTask {LABEL}\n\n"
        f"off: {OFF['windows']}"
    )
