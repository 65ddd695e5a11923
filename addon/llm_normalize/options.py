"""The addon's options in one table: how each is declared, and what its value means."""

import difflib
import logging
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mitmproxy import addonmanager, ctx, exceptions
from mitmproxy.proxy.mode_specs import ProxyMode, ReverseMode

from .exchange.source import translation
from .fixes import EVERY_FIX
from .mitm.helpers import parse_size
from .mitm.proxy_server import first_port
from .native_fixes import NATIVE_FIXES
from .repair.declaration import Declaration
from .request.adaptation import LEARNED, Adaptation
from .request.adaptations import ADAPTATIONS
from .routing.cors import origins
from .routing.hosts import HostPattern, Hosts
from .routing.keys import Keys, Secret
from .routing.known_providers import HOSTS
from .routing.model_names import Models
from .routing.own_address import is_here
from .routing.pace import Pace, paces
from .routing.routes import Routes

logger = logging.getLogger(__name__)

type Repair = type[Declaration | Adaptation]
type Named = tuple[HostPattern | None, str]
"""A host, or None for all, and the name of a fix or adaptation."""

EVERY: tuple[Repair, ...] = (*EVERY_FIX, *NATIVE_FIXES, *ADAPTATIONS)
"""All that may be skipped by its name."""
DEFAULT_PAIRS = "CONFDIR/normalize/pairs-PORT.jsonl"


class _InvalidError(ValueError):
    """An invalid value, and what was expected."""

    def __init__(self, given: object, expected: str) -> None:
        super().__init__(f"{given!r}: {expected}")


def _mode(text: str) -> str:
    if text not in ("repair", "observe"):
        raise _InvalidError(text, "expected repair or observe")
    return text


def _skips(texts: Sequence[str]) -> list[Named]:
    names = {each.name for each in EVERY}
    expected = "expected a fix, as the command normalize.fixes lists them"
    return [_named(text, names, expected) for text in texts]


def _adaptations(texts: Sequence[str]) -> list[Named]:
    names = {each.name for each in ADAPTATIONS if not each.needs_value} - {LEARNED}
    expected = (
        "expected host:adaptation-name, of one that needs no value from a refusal; the "
        "command normalize.fixes lists the names"
    )
    return [_named(text, names, expected, needs_host=True) for text in texts]


def _named(
    text: str, names: Collection[str], expected: str, *, needs_host: bool = False
) -> Named:
    host, _, name = text.strip().rpartition(":")
    if name not in names or (needs_host and not host):
        raise _InvalidError(text, expected)
    try:
        return (HostPattern.parse(host) if host else None), name
    except ValueError as error:
        raise ValueError(f"{text!r}: {error}") from None


def _optional_fixes(texts: Sequence[str]) -> set[str]:
    names = [fix.name for fix in EVERY_FIX if fix.optional]
    given = [text.strip() for text in texts]
    for text in given:
        if text not in names:
            near = difflib.get_close_matches(text, names, 1)
            meant = (
                f"did you mean {near[0]}?" if near else f"expected {' or '.join(names)}"
            )
            raise _InvalidError(text, meant)
    return set(given)


def _seconds(given: int) -> int:
    # To mitmproxy a switch is a number, too.
    if isinstance(given, bool) or given < 0:
        raise _InvalidError(given, "expected a number of seconds, 0 for never")
    return given


def _size(text: str) -> int:
    try:
        found = parse_size(text)
    except ValueError:
        found = None
    if found is None or found <= 0:
        raise _InvalidError(text, "expected a number of bytes such as 64m")
    return found


def _pairs(text: str) -> str:
    if text == DEFAULT_PAIRS:
        return text
    reason = "it has a NUL" if "\0" in text else ""
    try:
        if text and not reason and pairs_path(text).is_dir():
            reason = "it is a folder; expected a file"
    except (RuntimeError, OSError) as error:
        reason = str(error)
    if reason:
        raise _InvalidError(text, reason)
    return text


def _routes(texts: Sequence[str]) -> Routes:
    made = Routes.parse(texts)
    if not made.routes:
        return made
    modes = map(ProxyMode.parse, ctx.options.mode)
    own = {mode.listen_port(ctx.options.listen_port) for mode in modes}
    for route in made.routes:
        if is_here(route.target.host) and route.target.port in own:
            raise ValueError(f"'{route}' is a loop: its target is this proxy")
    return made


def _gate(text: str) -> Secret | None:
    return Secret.parse(text, has_lines=True) if text else None


def pairs_path(text: str) -> Path:
    """The path of the log, with CONFDIR and PORT filled in."""
    port = first_port() or ctx.options.listen_port or 8080
    confdir = str(Path(ctx.options.confdir).expanduser())
    values = {"CONFDIR": confdir, "PORT": str(port)}
    # Whole words only: /srv/EXPORT holds no placeholder.
    path = re.sub(r"\b(CONFDIR|PORT)\b", lambda found: values[found[1]], text)
    return Path(path).expanduser()


@dataclass(frozen=True, slots=True)
class Option:
    """An option of the addon.

    Attributes:
        name: Its name without `normalize_`; `Values` has its value under the same.
        kind: Its type, as mitmproxy takes it.
        default: Its default.
        help: What it does, for mitmproxy's list of options.
        parse: Makes its value of what is given, or raises ValueError with what is wrong.
        choices: What may be given, if that is all.
    """

    name: str
    kind: Any
    default: Any
    help: str
    parse: Callable[[Any], Any] = lambda given: given
    choices: Sequence[str] | None = None

    @property
    def full_name(self) -> str:
        """The name that users give."""
        return f"normalize_{self.name}"


OPTIONS = (
    Option(
        "hosts",
        Sequence[str],
        list(HOSTS),
        "Hosts whose traffic is opened and repaired: host, *.host or host:port; known-providers beside them: those of the default.",
        Hosts.parse,
    ),
    Option("only", bool, True, "Leave every other host's TLS closed."),
    Option(
        "mode",
        str,
        "repair",
        "Repair answers, or only observe what would be repaired.",
        _mode,
        choices=("repair", "observe"),
    ),
    Option(
        "skip",
        Sequence[str],
        [],
        "Fixes and adaptations not to apply: fix-name or host:fix-name.",
        _skips,
    ),
    Option(
        "adapt",
        Sequence[str],
        [],
        "Changes of requests for hosts of your own: host:adaptation-name.",
        _adaptations,
    ),
    Option(
        "also",
        Sequence[str],
        [],
        "Optional repairs to apply: tool-call-as-text, think-as-text.",
        _optional_fixes,
    ),
    Option(
        "strict", bool, False, "Also drop fields that OpenAI's own API does not define."
    ),
    Option(
        "pairs",
        str,
        DEFAULT_PAIRS,
        "The before/after log; empty turns it off. CONFDIR and PORT are filled in.",
        _pairs,
    ),
    Option(
        "pairs_size",
        str,
        "64m",
        "Size at which the before/after log rotates; four old files stay.",
        _size,
    ),
    Option(
        "keepalive",
        int,
        15,
        "Seconds of silence after which a stream's client gets a newline; 0 is never.",
        _seconds,
    ),
    Option(
        "retry",
        int,
        0,
        "Seconds for which a busy provider (429, 503) is asked again; 0 is never.",
        _seconds,
    ),
    Option(
        "pace",
        Sequence[str],
        [],
        "How many requests of one credential a host takes; the others wait in order: host=40/60s, or host=40/60s,4 for four at once.",
        paces,
    ),
    Option(
        "begin",
        int,
        0,
        "Seconds after which a stream begins whose provider has sent no headers; its status is then 200. 0 is never.",
        _seconds,
    ),
    Option(
        "translate",
        Sequence[str],
        ["auto"],
        "Translate Responses and Messages for providers that serve only chat completions: auto or off; host, *.host or host:port names others whose own endpoints are not used.",
        translation.parse,
    ),
    Option(
        "models",
        Sequence[str],
        [],
        "Models by other names: asked=sent, with * allowed in what is asked for; one * on each side keeps what it matches: gpt-*=acme/gpt-*.",
        Models.parse,
    ),
    Option(
        "routes",
        Sequence[str],
        [],
        "Where requests to a host go instead: api.openai.com=https://host/v1; those for some models: api.openai.com/model-pattern=https://host/v1.",
        _routes,
    ),
    Option(
        "keys",
        Sequence[str],
        [],
        "The key for a host, and for no other: host=env:NAME or host=file:PATH.",
        Keys.parse,
    ),
    Option(
        "gate",
        str,
        "",
        "The bearer tokens of which clients have to present one: env:NAME, or file:PATH with one a line.",
        _gate,
    ),
    Option(
        "cors",
        Sequence[str],
        [],
        "Web origins whose pages may call the reverse proxy.",
        origins,
    ),
)


class Values:
    """The values of the options, parsed: the defaults until others are taken."""

    hosts: Hosts
    only: bool
    mode: str
    skip: list[Named]
    adapt: list[Named]
    also: set[str]
    strict: bool
    pairs: str
    pairs_size: int
    keepalive: int
    retry: int
    pace: Sequence[Pace]
    begin: int
    translate: Hosts | None
    models: Models
    routes: Routes
    keys: Keys
    gate: Secret | None
    cors: frozenset[str]

    def __init__(self) -> None:
        self.version = 0
        """How often values have changed: what was made of older ones is stale."""
        for option in OPTIONS:
            setattr(self, option.name, option.parse(option.default))

    @property
    def repairs(self) -> bool:
        """Whether answers are repaired, and not only observed."""
        return self.mode == "repair"

    def take(self, updated: Collection[str]) -> None:
        """Parse the options whose names are *updated*.

        Raises:
            OptionsError: A value is bad; it is named by its option, and a key by nothing
                else. mitmproxy keeps the old one.
        """
        self.version += 1
        wrong = list[str]()
        # All of them, whatever one is: mitmproxy puts old values back in the same way.
        for option in OPTIONS:
            if option.full_name not in updated:
                continue
            given = getattr(ctx.options, option.full_name)
            try:
                setattr(self, option.name, option.parse(given))
            except _InvalidError as error:
                wrong.append(f"invalid {option.full_name} {error}")
            except ValueError as error:
                if option.name == "gate":
                    self.gate = Secret(given)  # nobody is let in until one is good
                wrong.append(f"{option.full_name}: {error}")
        if wrong:
            raise exceptions.OptionsError(wrong[0])


def declare(loader: addonmanager.Loader) -> None:
    """Declare the options."""
    for each in OPTIONS:
        loader.add_option(
            each.full_name, each.kind, each.default, each.help, choices=each.choices
        )


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
