"""What mitmproxy is going to do with its arguments, asked of mitmproxy's own parser.

Only that knows `-p8081`, `--set listen_port=`, `--mode regular@8081` and what its
`config.yaml` says, and which of them comes first.
"""

import argparse
import asyncio
import contextlib
import difflib
import importlib
import io
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from mitmproxy import options, optmanager
from mitmproxy.exceptions import OptionsError
from mitmproxy.proxy import mode_specs
from mitmproxy.tools import cmdline

from ..text.network_address import LOCAL
from .start_error import CallError, StartError

_MASTERS = {
    "mitmdump": ("dump", "DumpMaster"),
    "mitmproxy": ("console.master", "ConsoleMaster"),
    "mitmweb": ("web.master", "WebMaster"),
}
"""The module and the class of each program, of which one is imported."""
PAGE = 8081  # mitmweb's own
LARGEST = 65535
FORWARD = ("regular", "upstream")
"""The modes in which a client names the host it wants: what system settings are for."""


class Listens(NamedTuple):
    """One mode of a proxy.

    Attributes:
        mode: Its name, such as "regular".
        data: What follows the name: where a reverse proxy leads to.
        host: Where it listens; empty for everywhere.
        port: The port, 0 for any, None where it listens on none (the mode `local`).
        is_own: Whether the mode names that port itself (`regular@8081`).
    """

    mode: str
    data: str
    host: str
    port: int | None
    is_own: bool


class Plan(NamedTuple):
    """What a proxy is going to do.

    Attributes:
        confdir: mitmproxy's folder.
        listens: Its modes; empty if an option says not to serve.
        page: The port of mitmweb's page, None for other programs.
        says_host: Whether the arguments say where to listen.
        page_host: Where mitmweb's page listens.
    """

    confdir: Path
    listens: tuple[Listens, ...]
    page: int | None = None
    says_host: bool = False
    page_host: str = LOCAL

    @property
    def forward(self) -> Listens | None:
        """Where a client can be pointed to, if the proxy does nothing else."""
        if any(each.mode not in FORWARD for each in self.listens):
            return None
        return next((each for each in self.listens if each.port), None)


def plan(program: str, arguments: list[str], *, configured: bool = True) -> Plan | None:
    """The plan of *program*; None if it would do something else than serve.

    That is so for wrong arguments, or a call for help. It prints why.

    Args:
        program: `mitmdump`, `mitmweb` or `mitmproxy`.
        arguments: Its arguments.
        configured: Whether its `config.yaml` counts, which may be what is wrong.

    Raises:
        StartError: mitmproxy would fail without a sentence.
    """
    nowhere = io.StringIO()
    try:
        with contextlib.redirect_stdout(nowhere), contextlib.redirect_stderr(nowhere):
            return _plan(program, arguments, configured=configured)
    except (OptionsError, SystemExit, ValueError):
        return None


def _plan(program: str, arguments: list[str], *, configured: bool) -> Plan | None:
    # After mitmproxy/tools/main.py, but the addons do not get to know of any option:
    # they would open files.
    given = asyncio.run(_parser(program)).parse_args(arguments)
    if given.version or given.options or given.commands:
        return None
    opts = options.Options()
    opts.set(*given.setoptions, defer=True)
    folder = Path(opts.confdir).expanduser()
    if configured:
        _load(opts, folder)
    given_options = {
        name: value for name, value in vars(given).items() if value is not None
    }
    opts.update(
        **{name: value for name, value in given_options.items() if name in opts}
    )
    modes = [mode_specs.ProxyMode.parse(each) for each in opts.mode]

    def web(name: str, default: Any) -> Any:
        value = given_options.get(name) or opts.deferred.get(name, default)
        return getattr(value, "val", [value])[0]  # as --set has it

    planned = Plan(
        Path(os.path.abspath(Path(opts.confdir).expanduser())),  # noqa: PTH100 - links stay as they are
        tuple(_listens(opts, mode) for mode in modes) if opts.server else (),
        int(web("web_port", PAGE)) if program == "mitmweb" else None,
        "listen_host" in given_options
        or any(each.startswith("listen_host=") for each in given.setoptions),
        str(web("web_host", LOCAL)),
    )
    for port in (planned.page, *(each.port for each in planned.listens)):
        if port and not 0 < port <= LARGEST:
            raise CallError(f"invalid port {port}: expected 1 to {LARGEST}")
    return planned


def _load(opts: options.Options, folder: Path) -> None:
    paths = [folder / "config.yaml", folder / "config.yml"]
    try:
        optmanager.load_paths(opts, *paths)
    except OSError as error:
        raise StartError(f"{error.filename} cannot be read: {error.strerror}") from None
    except (AttributeError, TypeError) as error:  # no options, or a value's wrong type
        raise StartError(f"the config.yaml in {folder}: {error}") from None


def refusal(program: str, arguments: list[str], ours: Sequence[str]) -> str:
    """Return what is wrong with *arguments*, whatever `config.yaml` says; empty if nothing.

    Args:
        program: Whose arguments they are.
        arguments: All of them.
        ours: Flags that are not that program's, but were possible, too.
    """
    nowhere, errors = io.StringIO(), io.StringIO()
    try:
        with contextlib.redirect_stdout(nowhere), contextlib.redirect_stderr(errors):
            parser = asyncio.run(_parser(program))
            _, unknown = parser.parse_known_args(arguments)
            # By name: what follows may be a password.
            flags = [each.partition("=")[0] for each in unknown if each[:1] == "-"]
            if not flags:
                _plan(program, arguments, configured=False)
    except SystemExit:
        why = errors.getvalue().rpartition("error: ")[2].strip()
    except (OptionsError, ValueError) as error:
        why = str(error)
    else:
        known = re.findall(r"(?<![\w-])--[a-z][\w-]+", parser.format_help())
        for name in flags:
            near = difflib.get_close_matches(name.lower(), [*ours, *known], 1, 0.75)
            if near:
                return f"unknown flag {name}: did you mean {near[0]}?"
        return f"unknown flag {flags[0]}" if flags else ""
    return why and f"{program} does not take these arguments: {why}"


async def _parser(program: str) -> argparse.ArgumentParser:
    """Return the parser of *program*: a master brings its addons' options."""
    opts = options.Options()
    module, name = _MASTERS[program]
    getattr(importlib.import_module(f"mitmproxy.tools.{module}"), name)(opts)
    parser: argparse.ArgumentParser = getattr(cmdline, program)(opts)
    return parser


def _listens(opts: options.Options, mode: mode_specs.ProxyMode) -> Listens:
    port = mode.listen_port(opts.listen_port)
    if mode.default_port is None or mode.transport_protocol == mode_specs.UDP:
        port = None
    return Listens(
        mode.type_name,
        mode.data,
        mode.listen_host(opts.listen_host),
        port,
        mode.custom_listen_port is not None,
    )
