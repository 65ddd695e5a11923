"""Install and remove the service, and report on it: the unit file, and calls of systemctl."""

import argparse
import contextlib
import difflib
import json
import time
from pathlib import Path
from typing import Any

from ...records import private_file
from ...text.command_line import command_line
from .. import local_server, other_systems
from ..machine import NOT_STARTED, Machine
from . import unit
from .plan import ServiceError, plan

PATIENCE = 30.0
"""Seconds for mitmdump to listen, on a machine that is busy."""


def path_of(machine: Machine) -> Path:
    """Where the unit of this user is, or would be."""
    configured = machine.environ.get("XDG_CONFIG_HOME", "")
    # The specification says that a relative one is to be ignored.
    base = Path(configured) if configured.startswith("/") else machine.home / ".config"
    return base / "systemd" / "user" / unit.NAME


# What is there


def _read(path: Path) -> str | None:
    """The installed unit, None without one.

    Raises:
        ServiceError: It is not a file of ours.
    """
    if path.is_symlink():  # `systemctl mask` makes one, and so do some dotfile tools
        raise ServiceError(
            f"{path} is a link to {path.readlink()}: remove it yourself."
        )
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return None
    if not unit.is_ours(text):
        raise ServiceError(f"{path} was not written by llm_normalize, so it stays.")
    return text


def _refuse_changed(path: Path, old: str | None, new: str, *, force: bool) -> None:
    """Refuse to touch a unit of ours that was changed by hand, and show the difference."""
    if old is None or unit.is_untouched(old) or force:
        return
    lines = difflib.unified_diff(
        old.splitlines(),
        new.splitlines(),
        "as it is",
        "as it would be",
        lineterm="",
        n=1,
    )
    raise ServiceError(
        f"{path} was changed by hand, so it stays; add --force to do this anyway. What "
        f"`systemctl --user edit {unit.NAME}` adds is in a file of its own, and stays.",
        tuple(lines) if new else (),
    )


def _systemctl(machine: Machine, *arguments: str) -> str:
    """Send this user's systemd a command and return its answer.

    Raises:
        ServiceError: It refuses, or there is none.
    """
    outcome = machine.run(["systemctl", "--user", *arguments])
    if outcome.code:
        hint = ""
        if "connect to" in outcome.last_line.lower() or outcome.code == NOT_STARTED:
            hint = (
                f" (no systemd serves this user here: start {command_line('')} instead)"
            )
        raise ServiceError(
            f"systemctl --user {arguments[0]}: {outcome.last_line}{hint}"
        )
    return outcome.out


def _properties(machine: Machine) -> dict[str, str]:
    names = "ActiveState,SubState,Result,NRestarts,MainPID,UnitFileState,DropInPaths"
    output = _systemctl(machine, "show", f"--property={names}", unit.NAME)
    return dict(line.partition("=")[::2] for line in output.splitlines())


def _journal(machine: Machine) -> list[str]:
    command = ["journalctl", "--user", "-u", unit.NAME, "-n", "10", "--no-pager"]
    outcome = machine.run([*command, "-o", "cat"])
    return outcome.out.splitlines() if outcome.code == 0 else []


# Install


def install(machine: Machine, flags: argparse.Namespace, arguments: list[str]) -> None:
    """Write the unit, start it, and see it listen.

    Raises:
        ServiceError: Something is in the way.
    """
    made = plan(machine, flags.port, arguments)
    if machine.system == "macos":
        raise ServiceError(
            "nothing was done.", [other_systems.launchd(made.command, machine.home)]
        )
    if machine.system == "windows":
        raise ServiceError("nothing was done.", [other_systems.task(made.command)])
    touch = [machine.find("touch") or "/usr/bin/touch", made.command[2]]
    text = unit.text_of(made.command, touch, made.environment, made.listens)
    path = path_of(machine)
    print(f"{path}:\n\n{text}")
    if flags.dry_run:
        return
    old = _read(path)
    _refuse_changed(path, old, text, force=flags.force)
    running = _properties(machine).get("ActiveState") == "active"
    same = old is not None and unit.listens(old) == made.listens
    if local_server.listens(*made.listens) and not (running and same):
        raise ServiceError(
            f"something listens on {made.listens.host}:{made.listens.port} already: stop "
            "it, or take another port with -p."
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    private_file.write(path, text)
    _systemctl(machine, "daemon-reload")
    # A service that gave up starts again only after this; one that is new has no state.
    machine.run(["systemctl", "--user", "reset-failed", unit.NAME])
    _systemctl(machine, "enable", "--now", unit.NAME)
    if running:  # with the old unit
        _systemctl(machine, "restart", unit.NAME)
    _wait(machine, made.listens)
    print(f"It runs, and listens on {made.listens.host}:{made.listens.port}.")
    print(f"Logs: journalctl --user -u {unit.NAME}")
    _warn_of_readable_secrets(made.environment)
    _hint_at_linger(machine)


def _wait(machine: Machine, listens: unit.Listens) -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        state = _properties(machine)
        if state.get("ActiveState") == "failed" or state.get("NRestarts", "0") != "0":
            break
        if state.get("ActiveState") == "active" and local_server.listens(*listens):
            return
        time.sleep(0.2)
    raise ServiceError(
        f"the service does not listen on {listens.host}:{listens.port}; its last lines "
        "are above. Repair what they name and install again, or remove it: "
        f"{command_line('service', 'remove')}",
        _journal(machine),
    )


def _warn_of_readable_secrets(environment: Path) -> None:
    with contextlib.suppress(OSError):
        if environment.stat().st_mode & 0o077:
            print(f"Others can read {environment}: chmod 600 it.")


def _hint_at_linger(machine: Machine) -> None:
    outcome = machine.run(["loginctl", "show-user", "--property=Linger", "--value"])
    if outcome.out.strip() != "yes":
        print(
            "It ends when you log out, and starts when you log in; to have it from boot "
            "on: loginctl enable-linger"
        )


# Remove and status


def _report_others(machine: Machine) -> None:
    """Say what may run although there is no unit of ours, and what ends it."""
    if machine.system != "linux":
        off = other_systems.OFF[machine.system]
        print(f"To end a service set up by hand, as `install` shows: {off}")
        return
    state: dict[str, str] = {}
    with contextlib.suppress(ServiceError):  # without systemd nothing runs
        state = _properties(machine)
    if state.get("ActiveState") in ("active", "activating", "reloading"):
        print(
            f"A service of that name still runs (process {state.get('MainPID')}); to end "
            f"it: systemctl --user stop {unit.NAME}"
        )


def remove(machine: Machine, *, force: bool) -> None:
    """Stop the service and delete its unit.

    Raises:
        ServiceError: It is not ours, or was changed.
    """
    path = path_of(machine)
    text = _read(path) if machine.system == "linux" else None
    if text is None:
        print(f"There is no {path}: nothing to remove.")
        _report_others(machine)
        return
    _refuse_changed(path, text, "", force=force)
    drop_ins = _properties(machine).get("DropInPaths", "")
    _systemctl(machine, "disable", "--now", unit.NAME)
    path.unlink()
    _systemctl(machine, "daemon-reload")
    machine.run(["systemctl", "--user", "reset-failed", unit.NAME])
    print(f"Stopped, and removed {path}.")
    if drop_ins:
        print(f"Left in place (not created by llm-normalize): {drop_ins}")


def facts(machine: Machine) -> dict[str, Any] | None:
    """Return how the service does; None if there is none.

    Raises:
        ServiceError: systemd does not tell.
    """
    path = path_of(machine)
    if machine.system != "linux" or not path.exists():
        return None
    text = path.read_text(encoding="utf-8", errors="replace")
    origin = "not written by llm_normalize"
    if unit.is_ours(text):
        origin = "as written" if unit.is_untouched(text) else "changed by hand"
    state = _properties(machine)
    where = unit.listens(text)
    return {
        "unit": str(path),
        "origin": origin,
        "enabled": state.get("UnitFileState") or "not loaded",
        "state": state.get("ActiveState"),
        "sub_state": state.get("SubState"),
        "pid": state.get("MainPID"),
        "restarts": state.get("NRestarts"),
        "result": state.get("Result"),
        "listens": f"{where.host}:{where.port}" if where is not None else None,
        "answers": where is not None and local_server.listens(*where),
        "logs": f"journalctl --user -u {unit.NAME}",
    }


def status(machine: Machine, *, is_json: bool = False) -> int:
    """Tell how the service does; return 0 if it runs and listens."""
    found = facts(machine)
    if is_json:
        print(json.dumps(found, indent=1))
    elif found is None:
        print(f"Not installed: there is no {path_of(machine)}.")
        _report_others(machine)
    else:
        print(f"unit:  {found['unit']} ({found['origin']}; {found['enabled']})")
        print(
            f"state: {found['state']} ({found['sub_state']}), process {found['pid']}, "
            f"restarted {found['restarts']} times, last result {found['result']}"
        )
        if found["listens"]:
            word = "answers" if found["answers"] else "does not answer"
            print(f"port:  {found['listens']} {word}")
        print(f"logs:  {found['logs']}")
    does = found is not None and found["state"] == "active" and found["answers"]
    return 0 if does else 1
