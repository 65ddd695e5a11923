"""What stands for a systemd unit on macOS and Windows, as text: it has not run there."""

import plistlib
import subprocess
from collections.abc import Sequence
from pathlib import Path

LABEL = "llm-normalize"
OFF = {
    "macos": f"launchctl bootout gui/$(id -u)/{LABEL}",
    "windows": f"Stop-ScheduledTask {LABEL}; Unregister-ScheduledTask {LABEL}",
}
"""What ends it, and takes it away."""


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
