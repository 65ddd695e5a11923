"""A script for mitmproxy: what a start by `run` has it do.

Loaded behind the addon, so that `running` comes when mitmproxy listens and no option was
refused. It gets what it needs by variables, which what mitmproxy starts does not inherit:
a password given by `--set` would stand in the list of this machine's processes.
"""

import json
import logging
import os
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from mitmproxy import addonmanager, certs, ctx, exceptions, master

from llm_normalize.desktop.machine import Machine
from llm_normalize.desktop.proxy.switch import choose
from llm_normalize.home import ca_bundle
from llm_normalize.mitm.proxy_server import ca_certificate
from llm_normalize.options import DEFAULT_PAIRS
from llm_normalize.records import private_file
from llm_normalize.routing.keys import Keys
from llm_normalize.run import start, startup_summary
from llm_normalize.run.handover import ENDS_WITH_INPUT, READY, SAYS, UPSTREAM_AUTH
from llm_normalize.run.mitmproxy_options import Listens, Plan
from llm_normalize.run.upstream_proxy import from_environment
from llm_normalize.text.console import say

logger = logging.getLogger(__name__)

_PLAIN = 1  # mitmproxy's default: two lines for a flow


def load(_: addonmanager.Loader) -> None:
    """Trust what this machine trusts; leave the addon's line for each answer in the log.

    Whoever wants more of mitmproxy's log gets it: `-v`, `--flow-detail 2`.
    """
    _trust_as_this_machine()
    if ENDS_WITH_INPUT in os.environ and ctx.options.normalize_pairs == DEFAULT_PAIRS:
        # Not one more file for each port that such a proxy happens to get.
        pairs = DEFAULT_PAIRS.replace("PORT", "exec")
        ctx.options.update(normalize_pairs=pairs)
    if getattr(ctx.options, "flow_detail", None) == _PLAIN:
        ctx.options.update(flow_detail=0)
    # mitmproxy in a terminal and mitmweb have a log of their own.
    if getattr(ctx.options, "termlog_verbosity", "") == "info":
        logging.getLogger("mitmproxy.proxy.server").setLevel(logging.WARNING)


def _trust_as_this_machine() -> None:
    """Have servers verified by the system's roots, too; mitmproxy has its own alone."""
    options = ctx.options
    if (
        options.ssl_verify_upstream_trusted_ca
        or options.ssl_verify_upstream_trusted_confdir
    ):
        return
    path = Path(options.confdir).expanduser() / ca_bundle.FOLDER / "upstream-roots.pem"
    try:
        ca_bundle.write(path, ca_bundle.roots(without=ca_certificate(early=True)))
        options.update(ssl_verify_upstream_trusted_ca=str(path))
    except (OSError, ValueError, exceptions.OptionsError) as error:
        logger.warning("normalize: this machine's roots are not used: %s", error)


def running() -> None:
    """Use the password of the upstream proxy, and tell that mitmproxy serves."""
    auth = os.environ.pop(UPSTREAM_AUTH, None)
    if auth:
        ctx.options.update(upstream_auth=auth)
    says, ready = os.environ.pop(SAYS, ""), os.environ.pop(READY, "")
    listens = _listens()
    page = getattr(ctx.master, "web_url", "")
    if ready:
        reported = {"listens": listens, "page": page}
        private_file.write(Path(ready), json.dumps(reported))
    if os.environ.pop(ENDS_WITH_INPUT, ""):
        waits = threading.Thread(target=_end_with_input, args=[ctx.master], daemon=True)
        waits.start()
    program, _, base = says.partition(" ")
    if program:
        _say_next(program, base, listens, page)


def _end_with_input(started: master.Master) -> None:
    sys.stdin.read()
    started.shutdown()


def _say_next(program: str, base: str, listens: tuple[Listens, ...], page: str) -> None:
    machine = Machine()
    settings = choose(machine)
    ways = startup_summary.Ways(machine.system, settings.name if settings else "")
    # Links stay as they are.
    confdir = os.path.abspath(Path(ctx.options.confdir).expanduser())  # noqa: PTH100
    plan = Plan(Path(confdir), listens)
    said = startup_summary.startup_summary(program, plan, ways, page, base, _serves())
    say("\n".join(said))
    start.hint(from_environment(), plan)


def _serves() -> startup_summary.Serves:
    options = ctx.options
    return startup_summary.Serves(
        keys=Keys.parse(options.normalize_keys),
        has_gate=bool(options.normalize_gate),
        is_paced=bool(options.normalize_pace),
        certificate=_certificate_name(options.certs),
    )


def _certificate_name(given: Sequence[str]) -> str | None:
    """The host that the first certificate of `--certs` names; empty if it names several.

    mitmproxy has refused one that it cannot read by now.
    """
    if not given:
        return None
    domain, equals, path = given[0].partition("=")
    if equals and "*" not in domain:
        return domain
    pem = Path(path if equals else domain).expanduser().read_bytes()
    names = certs.Cert.from_pem(pem).altnames
    plain = [str(each.value) for each in names if "*" not in str(each.value)]
    return plain[0] if plain else ""


def _listens() -> tuple[Listens, ...]:
    """The modes, each with the address that it has got."""
    found = []
    for server in ctx.master.addons.get("proxyserver").servers:
        mode = server.mode
        host, port, *_ = next(iter(server.listen_addrs), ("", None))
        is_own = mode.custom_listen_port is not None
        found.append(Listens(mode.type_name, mode.data, host, port, is_own))
    return tuple(found)
