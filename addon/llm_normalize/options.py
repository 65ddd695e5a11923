"""The addon's options: their declarations, and what their values mean."""

import difflib
import logging
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from mitmproxy import addonmanager, ctx, exceptions
from mitmproxy.proxy.mode_specs import ProxyMode, ReverseMode

from .commands import EVERY
from .exchange.routing_policy import Routing
from .exchange.source import translation
from .fixes import EVERY_FIX
from .mitm.helpers import parse_size
from .mitm.proxy_server import first_port
from .request.adaptation import LEARNED
from .request.adaptations import ADAPTATIONS
from .routing.cors import origins
from .routing.hosts import PROVIDERS, HostPattern, Hosts
from .routing.keys import Keys, Secret
from .routing.model_names import Models
from .routing.own_address import is_here
from .routing.routes import Routes

logger = logging.getLogger(__name__)

_MODES = ("repair", "observe")
DEFAULT_PAIRS = "CONFDIR/normalize/pairs-PORT.jsonl"


def declare(loader: addonmanager.Loader) -> None:
    """Declare the options."""
    loader.add_option(
        "normalize_hosts",
        Sequence[str],
        list(PROVIDERS),
        "Hosts whose traffic is opened and repaired: host, *.host or host:port.",
    )
    loader.add_option(
        "normalize_only",
        bool,
        True,
        "Leave every other host's TLS closed.",
    )
    loader.add_option(
        "normalize_mode",
        str,
        "repair",
        "Repair answers, or only observe what would be repaired.",
        choices=_MODES,
    )
    loader.add_option(
        "normalize_skip",
        Sequence[str],
        [],
        "Fixes and adaptations not to apply: fix-name or host:fix-name.",
    )
    loader.add_option(
        "normalize_adapt",
        Sequence[str],
        [],
        "Changes of requests for hosts of your own: host:adaptation-name.",
    )
    loader.add_option(
        "normalize_also",
        Sequence[str],
        [],
        "Optional repairs to apply: tool-call-as-text, think-as-text.",
    )
    loader.add_option(
        "normalize_strict",
        bool,
        False,
        "Also drop fields that OpenAI's own API does not define.",
    )
    loader.add_option(
        "normalize_pairs",
        str,
        DEFAULT_PAIRS,
        "The before/after log; empty turns it off. CONFDIR and PORT are filled in.",
    )
    loader.add_option(
        "normalize_pairs_size",
        str,
        "64m",
        "Size at which the before/after log rotates; four old files stay.",
    )
    loader.add_option(
        "normalize_keepalive",
        int,
        15,
        "Seconds of silence after which a stream's client gets a newline; 0 is never.",
    )
    loader.add_option(
        "normalize_retry",
        int,
        0,
        "Seconds for which a busy provider (429, 503) is asked again; 0 is never.",
    )
    loader.add_option(
        "normalize_translate",
        str,
        "auto",
        "Translate Responses and Messages for providers that serve only chat completions.",
        choices=translation.MODES,
    )
    loader.add_option(
        "normalize_models",
        Sequence[str],
        [],
        "Models by other names: asked=sent, with * allowed in what is asked for; one * on "
        "each side keeps what it matches: gpt-*=acme/gpt-*.",
    )
    loader.add_option(
        "normalize_routes",
        Sequence[str],
        [],
        "Where requests to a host go instead: api.openai.com=https://host/v1; those for "
        "some models: api.openai.com/model-pattern=https://host/v1.",
    )
    loader.add_option(
        "normalize_keys",
        Sequence[str],
        [],
        "The key for a host, and for no other: host=env:NAME or host=file:PATH.",
    )
    loader.add_option(
        "normalize_gate",
        str,
        "",
        "The bearer token that clients have to present: env:NAME or file:PATH.",
    )
    loader.add_option(
        "normalize_cors",
        Sequence[str],
        [],
        "Web origins whose pages may call the reverse proxy.",
    )


def set_routing(routing: Routing, updated: set[str]) -> None:
    """Take over what has changed of routes, models, keys, gate and origins.

    Raises:
        OptionsError: A value is bad; it is named by its option, and a key by nothing else.
    """
    for option, attribute, parse in _ROUTING_OPTIONS:
        if f"normalize_{option}" in updated:
            given = getattr(ctx.options, f"normalize_{option}")
            try:
                value = parse(given)
            except ValueError as error:
                if option == "gate":
                    routing.gate = Secret(given)  # nobody is let in until one is good
                raise exceptions.OptionsError(f"normalize_{option}: {error}") from None
            setattr(routing, attribute, value)


def _routes(texts: Sequence[str]) -> Routes:
    made = Routes.parse(texts)
    modes = map(ProxyMode.parse, ctx.options.mode)
    own = {mode.listen_port(ctx.options.listen_port) for mode in modes}
    for route in made.routes:
        if is_here(route.target.host) and route.target.port in own:
            raise ValueError(f"'{route}' is a loop: its target is this proxy")
    return made


def connect_late(routes: Routes) -> None:
    """Let mitmproxy connect to no host before it is known that a request goes there.

    Otherwise a reverse proxy connects to its upstream as soon as a client connects to it,
    and lets the client down where that fails, though a route leads elsewhere.
    """
    modes = map(ProxyMode.parse, ctx.options.mode)
    places = (each.address for each in modes if isinstance(each, ReverseMode))
    if ctx.options.connection_strategy == "lazy" or not any(
        routes.has(host, port) for host, port in places
    ):
        return
    ctx.options.update(connection_strategy="lazy")
    logger.info(
        "normalize: connection_strategy is lazy now: the upstream has a route, and "
        "mitmproxy would connect to it first"
    )


_ROUTING_OPTIONS: tuple[tuple[str, str, Callable[[Any], object]], ...] = (
    ("routes", "routes", _routes),
    ("models", "models", Models.parse),
    ("keys", "keys", Keys.parse),
    ("gate", "gate", lambda text: Secret.parse(text) if text else None),
    ("cors", "origins", origins),
    ("translate", "translates", translation.parse),
)


def check_mode(text: str) -> None:
    """Refuse an invalid mode.

    Raises:
        OptionsError: It is none.
    """
    if text not in _MODES:
        raise exceptions.OptionsError(
            f"invalid normalize_mode {text!r}: expected repair or observe"
        )


def hosts(patterns: Sequence[str]) -> Hosts:
    """Return the hosts that *patterns* name.

    Raises:
        OptionsError: One of them is not a pattern.
    """
    try:
        return Hosts.parse(patterns)
    except ValueError as error:
        raise exceptions.OptionsError(f"normalize_hosts: {error}") from None


def skip(text: str) -> tuple[HostPattern | None, str]:
    """Return the host, or None for all, and the name of a fix that *text* skips.

    Raises:
        OptionsError: It names no fix, or no host.
    """
    host, _, name = text.strip().rpartition(":")
    if name not in {each.name for each in EVERY}:
        raise exceptions.OptionsError(
            f"invalid normalize_skip {text!r}: expected a fix, as the command "
            "normalize.fixes lists them"
        )
    try:
        return (HostPattern.parse(host) if host else None), name
    except ValueError as error:
        raise exceptions.OptionsError(f"normalize_skip: {text!r}: {error}") from None


def check_seconds(option: str, seconds: int) -> None:
    """Refuse a time below zero, and a switch: to mitmproxy, that is a number, too.

    Raises:
        OptionsError: It is one.
    """
    if isinstance(seconds, bool) or seconds < 0:
        raise exceptions.OptionsError(
            f"invalid {option} {seconds}: expected a number of seconds, 0 for never"
        )


def adapted(text: str) -> tuple[HostPattern, str]:
    """Return the host and the adaptation that *text* names.

    Raises:
        OptionsError: It names no adaptation that a host may be given, or no host.
    """
    host, _, name = text.strip().rpartition(":")
    if not host or name not in {each.name for each in ADAPTATIONS} - {LEARNED}:
        raise exceptions.OptionsError(
            f"invalid normalize_adapt {text!r}: expected host:adaptation-name; the "
            "command normalize.fixes lists the names"
        )
    try:
        return HostPattern.parse(host), name
    except ValueError as error:
        raise exceptions.OptionsError(f"normalize_adapt: {text!r}: {error}") from None


def also(text: str) -> str:
    """Return the name of the optional repair that *text* names.

    Raises:
        OptionsError: It names none.
    """
    names = [fix.name for fix in EVERY_FIX if fix.optional]
    if text.strip() not in names:
        near = difflib.get_close_matches(text.strip(), names, 1)
        meant = f"did you mean {near[0]}?" if near else " or ".join(names)
        expected = meant if near else f"expected {meant}"
        raise exceptions.OptionsError(f"invalid normalize_also {text!r}: {expected}")
    return text.strip()


def size(text: str) -> int:
    """Return the bytes of a size such as `64m`.

    Raises:
        OptionsError: It is none.
    """
    try:
        found = parse_size(text)
    except ValueError:
        found = None
    if found is None or found <= 0:
        raise exceptions.OptionsError(
            f"invalid normalize_pairs_size {text!r}: expected a number of bytes such "
            "as 64m"
        )
    return found


def check_pairs(text: str) -> None:
    """Refuse what cannot be the path of a log.

    Raises:
        OptionsError: It cannot.
    """
    reason = "it has a NUL" if "\0" in text else ""
    try:
        if text and not reason and pairs_path(text).is_dir():
            reason = "it is a folder; expected a file"
    except (RuntimeError, OSError) as error:
        reason = str(error)
    if reason:
        raise exceptions.OptionsError(f"invalid normalize_pairs {text!r}: {reason}")


def pairs_path(text: str) -> Path:
    """Return the path of the log, with CONFDIR and PORT filled in."""
    port = first_port() or ctx.options.listen_port or 8080
    confdir = str(Path(ctx.options.confdir).expanduser())
    values = {"CONFDIR": confdir, "PORT": str(port)}
    # Whole words only: /srv/EXPORT holds no placeholder.
    path = re.sub(r"\b(CONFDIR|PORT)\b", lambda found: values[found[1]], text)
    return Path(path).expanduser()
