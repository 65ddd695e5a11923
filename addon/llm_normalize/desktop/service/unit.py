"""The systemd user unit as text: how it is written, recognised and read back.

Sources: systemd.service(5), "Command lines"; systemd.syntax(7), "Quoting";
systemd.unit(5), "Specifiers".
"""

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

NAME = "llm-normalize.service"
MARK = "# Written by `llm-normalize service`, which also removes it."
_SUM = "# SHA-256 of what follows: "
_PLAIN = re.compile(r"[A-Za-z0-9_./:=@+,-]+")
_ESCAPES = {"\\": "\\\\", '"': '\\"', "%": "%%"}
_LISTENS = re.compile(
    r'^ExecStart=.* --listen-host "?([^\s"]+)"? --listen-port (\d+)', re.MULTILINE
)

_TEXT = """\
[Unit]
Description=llm_normalize, on {host} port {port}
# What cannot start (a port that is taken, say) is not tried for ever.
StartLimitIntervalSec=60
StartLimitBurst=5

[Service]
Type=exec
# Lines NAME=VALUE for options that take env:NAME; may be missing. Keep it mode 0600.
EnvironmentFile=-{environment}
Environment=PYTHONUNBUFFERED=1 PYTHONUTF8=1
ExecStart={command}
# mitmproxy loads the addon anew then; open streams finish on the old code.
ExecReload={reload}
Restart=on-failure
RestartSec=2
# Upon SIGTERM mitmdump writes its logs to their end and ends with 0.
KillSignal=SIGTERM
TimeoutStopSec=15
SyslogIdentifier=llm-normalize
UMask=0077
LimitNOFILE=65536
MemoryMax=2G

# What an ordinary user's systemd can do. The rest needs capabilities that it lacks, and
# then nothing would start (218/CAPABILITIES): CapabilityBoundingSet, PrivateDevices,
# ProtectClock, ProtectKernelModules and ProtectKernelLogs. What hides files needs user
# namespaces, which some systems forbid.
NoNewPrivileges=yes
LockPersonality=yes
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service

[Install]
WantedBy=default.target
"""


class UnitError(Exception):
    """What cannot be written in a unit, as one sentence."""

    code = 2  # the exit code: a word of the command line, mostly


class Listens(NamedTuple):
    """Where the service of a unit listens."""

    host: str
    port: int


def _fit(text: str, what: str) -> str:
    if not text.isprintable():  # a line end, or bytes that are no UTF-8
        raise UnitError(f"{what} has a character that no unit can hold: {text!r}")
    return text


def quoted(words: Sequence[str]) -> str:
    """*words* as systemd has to read them to get them back.

    Raises:
        UnitError: One has a character that cannot be written.
    """
    made = []
    for place, word in enumerate(words):
        _fit(word, "an argument")
        # A variable is looked for in every word but the program's own path.
        escapes = _ESCAPES if place == 0 else {**_ESCAPES, "$": "$$"}
        text = "".join(escapes.get(letter, letter) for letter in word)
        made.append(text if _PLAIN.fullmatch(word) else f'"{text}"')
    return " ".join(made)


def _startable(command: Sequence[str]) -> Sequence[str]:
    """*command* with a program by a name that systemd takes.

    It refuses quotes and backslashes there, escaped or not (string_is_safe in
    src/core/load-fragment.c), which a folder may well have in its name.
    """
    if not set(command[0]) & set("'\"\\"):
        return command
    return ["/bin/sh", "-c", 'exec "$0" "$@"', *command]


def _path(path: Path) -> str:
    # A whole line, so without quotes; but a pattern (glob(7)).
    text = _fit(str(path), "a path")
    return re.sub(r"([\\*?\[])", r"\\\1", text).replace("%", "%%")


def text_of(
    command: Sequence[str], reload: Sequence[str], environment: Path, listens: Listens
) -> str:
    """The unit.

    Args:
        command: Program and arguments, the program by its whole path.
        reload: Likewise, what makes mitmproxy load the addon anew.
        environment: The file with variables; may be missing.
        listens: Where the service will listen.

    Raises:
        UnitError: A word or a path cannot be written.
    """
    body = _TEXT.format(
        host=listens.host.replace("%", "%%"),
        port=listens.port,
        environment=_path(environment),
        command=quoted(_startable(command)),
        reload=quoted(_startable(reload)),
    )
    return f"{MARK}\n{_SUM}{_digest(body)}\n{body}"


def _digest(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()


def is_ours(text: str) -> bool:
    """Tell whether *text* was written here, even if it was changed since."""
    return text.startswith(MARK)


def is_untouched(text: str) -> bool:
    """Tell whether *text* is as it was written here."""
    _, _, rest = text.partition("\n")
    first_line, _, body = rest.partition("\n")
    return is_ours(text) and first_line == _SUM + _digest(body)


def listens(text: str) -> Listens | None:
    """Where the service of the unit *text* listens, if that can be read."""
    found = _LISTENS.search(text)
    return Listens(found[1].replace("%%", "%"), int(found[2])) if found else None
