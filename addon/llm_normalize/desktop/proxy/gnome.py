"""GNOME's proxy settings, which Cinnamon, Budgie, Unity and MATE use, too.

The keys are described in gsettings-desktop-schemas, org.gnome.system.proxy. gsettings
does not tell a key that is not set from one that is set to its default; dconf does.
"""

import ast
from typing import override

from ..machine import Machine
from .settings import InForce, ProxyError, Settings, Target, Values, bypassing

SCHEMA = "org.gnome.system.proxy"
PATH = "/system/proxy/"
MODE = f"{SCHEMA} mode"
LIST = ("gsettings", "list-recursively", SCHEMA)
SCRIPT = f"{SCHEMA} autoconfig-url"
IGNORED = f"{SCHEMA} ignore-hosts"
KINDS = ("http", "https")
LOGIN = f"{SCHEMA}.http use-authentication"
NAMES = (
    *(f"{SCHEMA}.{kind} {key}" for kind in KINDS for key in ("host", "port")),
    LOGIN,
    IGNORED,
    SCRIPT,
    MODE,
)
"""What may be changed, as `gsettings` names it: a schema and a key."""

USERS = {"GNOME", "Unity", "Budgie", "Cinnamon", "X-Cinnamon", "Pantheon", "MATE"}
"""Desktops with these settings, as XDG_CURRENT_DESKTOP names them."""


def is_here(machine: Machine) -> bool:
    """Tell whether the schema is installed."""
    return machine.find("gsettings") is not None and not (
        machine.run(["gsettings", "list-keys", SCHEMA]).code
    )


class Gnome(Settings):
    """GNOME's settings; a value is the text of a GVariant."""

    name = "GNOME"

    @override
    def effective(self) -> Values:
        values = _listed(self.ran(self.machine.run(LIST)))
        missing = [name for name in NAMES if name not in values]
        if missing:
            raise ProxyError(f"GNOME's proxy settings have no {missing[0]}")
        return values

    @override
    def read(self) -> Values:
        values = self.effective()
        in_memory = ["env", "GSETTINGS_BACKEND=memory", *LIST]
        defaults = _listed(self.ran(self.machine.run(in_memory)))
        has_dconf = self.machine.find("dconf") is not None
        # Which keys the user's database, or an administrator's, has a value for.
        stored = self._stored() if has_dconf else set()
        return {name: self._set(name, values, defaults, stored) for name in NAMES}

    def _set(
        self, name: str, values: Values, defaults: Values, stored: set[str]
    ) -> str | None:
        value = values[name]
        if name not in stored:
            return None if value == defaults.get(name) else value
        # An administrator's value is what is left when the user's is not set.
        asked = self.machine.run(["dconf", "read", "-d", _path(name)])
        return None if asked.out.strip() == value else value

    def _stored(self) -> set[str]:
        stored, schema = set(), SCHEMA
        for line in self.ran(self.machine.run(["dconf", "dump", PATH])).splitlines():
            if line.startswith("["):
                part = line.strip("[]/")
                schema = f"{SCHEMA}.{part}" if part else SCHEMA
            elif "=" in line:
                stored.add(f"{schema} {line.partition('=')[0]}")
        return stored

    @override
    def wanted(self, target: Target, before: Values) -> Values:
        if target.pac:
            return {SCRIPT: f"'{target.url}'", MODE: "'auto'"}
        values: Values = {}
        for kind in KINDS:
            values[f"{SCHEMA}.{kind} host"] = f"'{target.host}'"
            values[f"{SCHEMA}.{kind} port"] = str(target.port)
        if before[LOGIN] == "true":  # the name and password of another proxy
            values[LOGIN] = "false"
        ignored = before[IGNORED]
        if ignored is not None:
            given = _strings(ignored)
            if bypassing(given) != given:
                values[IGNORED] = _text(bypassing(given))
        return values | {MODE: "'manual'"}

    @override
    def write(self, values: Values) -> None:
        for name, value in values.items():
            if value is None:
                self.ran(self.machine.run(["gsettings", "reset", *name.split()]))
            else:
                self.ran(self.machine.run(["gsettings", "set", *name.split(), value]))

    @override
    def in_force(self, values: Values) -> InForce:
        mode = values[MODE]
        if mode == "'auto'":
            pac = _unquoted(values[SCRIPT])
            return InForce(pac=pac, is_searched=not pac)
        if mode == "'manual'":
            for kind in reversed(KINDS):  # http's is for https, too, without an own one
                host = _unquoted(values[f"{SCHEMA}.{kind} host"])
                port = values[f"{SCHEMA}.{kind} port"] or ("0", "8080")[kind == "http"]
                if host and port != "0":
                    return InForce(proxy=f"{host}:{port}")
        return InForce()

    @override
    def off(self, found: InForce) -> str:
        return f"gsettings set {MODE} none"

    @override
    def belonging(self, changed: set[str]) -> set[str]:
        schemas = {name.split()[0] for name in changed} - {SCHEMA}
        tied = {name for name in NAMES if name.split()[0] in schemas}
        switch = {MODE} if changed - {IGNORED} else set()
        return changed | tied | switch


def _listed(out: str) -> Values:
    """The values that `gsettings list-recursively` prints."""
    lines = [line.split(" ", 2) for line in out.splitlines() if line.count(" ") > 1]
    return {f"{schema} {key}": value for schema, key, value in lines}


def _path(name: str) -> str:
    schema, key = name.split()
    part = schema.removeprefix(SCHEMA).strip(".")
    return f"{PATH}{part}/{key}" if part else f"{PATH}{key}"


def _strings(text: str) -> list[str]:
    """A GVariant's list of strings, which are written as Python's are."""
    try:
        found = ast.literal_eval(text.removeprefix("@as").strip())
    except (ValueError, SyntaxError):
        raise ProxyError(f"GNOME's {IGNORED} cannot be read: {text}") from None
    return [str(each) for each in found]


def _unquoted(text: str | None) -> str:
    return "" if text is None else _strings(f"[{text}]")[0]


def _text(strings: list[str]) -> str:
    quoted = [
        "'" + each.replace("\\", "\\\\").replace("'", "\\'") + "'" for each in strings
    ]
    return f"[{', '.join(quoted)}]"
