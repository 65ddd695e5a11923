"""The check's own proxy: the addon as it would run, on a free port, for the check alone.

It has the user's configuration and CA, but writes nothing: no pairs log, no flows, and
no CA where there is none.
"""

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from mitmproxy import options, optmanager
from mitmproxy.exceptions import OptionsError

from ..demo import proxy as demo_proxy
from ..demo.provider import Provider
from ..demo.proxy import DemoError, Proxy
from ..desktop.machine import Machine
from ..routing.known_providers import HOSTS
from ..text.command_line import command_line
from ..text.printable import brief
from .finding import Finding, Mark

# What a user's config.yaml may say that has no place in a check: it would listen
# elsewhere, write, or send a stranger's request on.
OWN = {
    "mode": "regular",
    "termlog_verbosity": "info",  # why a start fails
    "save_stream_file": "",
    "hardump": "",
    "proxyauth": "",
    "normalize_gate": "",
}
NONE = ("client_replay", "server_replay", "normalize_routes", "normalize_keys")
LISTS = ("normalize_hosts", "normalize_skip")


def config(confdir: Path) -> Path | None:
    """The configuration file of mitmproxy, None without one."""
    named = (confdir / name for name in ("config.yaml", "config.yml"))
    return next((each for each in named if each.exists()), None)


def hosts(confdir: Path) -> tuple[str, ...]:
    """The hosts that a proxy with this configuration opens."""
    opts = options.Options()
    opts.add_option("normalize_hosts", Sequence[str], HOSTS, "")
    # mitmproxy reports a broken file when it starts.
    wrong = OSError, ValueError, AttributeError, TypeError, OptionsError
    with contextlib.suppress(*wrong):
        optmanager.load_paths(opts, config(confdir) or "")
    return tuple(opts.normalize_hosts)


def _folder(confdir: Path, apart: Path) -> Path:
    """Return *apart* with links to what *confdir* has: what is made stays out of that.

    Where a user may make no links, on Windows, it is *confdir* itself if that is whole.
    """
    apart.mkdir()
    named = [confdir / f"mitmproxy-{each}.pem" for each in ("ca", "ca-cert", "dhparam")]
    try:
        for each in (*named, config(confdir)):
            if each is not None and each.exists():
                (apart / each.name).symlink_to(each)
    except OSError:
        if all(each.exists() for each in named):
            return confdir
    return apart


@contextlib.contextmanager
def running(
    confdir: Path, temporary: Path, provider: Provider, given: Sequence[str]
) -> Iterator[Proxy]:
    """Run it, and end it whatever happens.

    Args:
        confdir: The user's configuration.
        temporary: A folder of the check's own.
        provider: Whose answers it is to repair, among others.
        given: Further options for it, `NAME=VALUE`.

    Raises:
        DemoError: It did not start.
    """
    conf = _folder(confdir, temporary / "conf")
    # One value for each, save for lists: mitmproxy loads no script after two of them.
    single = dict(OWN)
    more = [part for name in NONE for part in ("--set", name)]
    for option in given:
        name, _, value = option.partition("=")
        if name in LISTS:
            more += ["--set", option]
        else:
            single[name] = value
    for name, value in single.items():
        more += ["--set", f"{name}={value}"]
    with demo_proxy.running(conf, None, provider, web=False, more=more) as proxy:
        yield proxy


def failed(machine: Machine, confdir: Path, error: DemoError) -> Finding:
    """Return the line about a proxy that did not start."""
    last_words = brief(" ".join([*error.lines][-3:]))
    path = config(confdir)
    if path is not None:
        repair = f"correct {path}, or move it away"
    else:
        repair = command_line("demo", system=machine.system) + " shows more"
    return Finding(
        Mark.FAIL, "own proxy", f"{error} Its last words: {last_words}", repair
    )
