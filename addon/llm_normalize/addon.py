"""The addon: options, commands and hooks. What to repair is decided elsewhere."""

import logging
import re
from collections.abc import Awaitable, Sequence
from pathlib import Path
from typing import cast

from mitmproxy import (
    addonmanager,
    command,
    contentviews,
    ctx,
    exceptions,
    http,
    tls,
    types,
)
from mitmproxy.utils import human

from .answers import Answers
from .fixes import FIXES
from .flows import answers_events, is_ours, is_reverse, is_selected, is_shown
from .legible import brief
from .pairs import PairsLog
from .running import Settings
from .selection import PROVIDERS, HostPattern, Hosts
from .stats import Stats
from .view import BeforeAfter

logger = logging.getLogger(__name__)

_MODES = ("repair", "observe")
DEFAULT_PAIRS = "CONFDIR/normalize/pairs-PORT.jsonl"
_DISTRUST = ("unknown ca", "bad certificate", "certificate unknown")
"""Alerts of a client that does not trust a certificate (mitmproxy's layers/tls.py)."""


class Normalize:
    """Repairs the answers of nearly OpenAI-compatible providers."""

    name = "llm_normalize"  # two addons with one name refuse to load

    def __init__(self) -> None:
        self.hosts = Hosts.parse(PROVIDERS)
        self.skips: list[tuple[HostPattern | None, str]] = []
        self.stats = Stats()
        self._log: PairsLog | None = None
        self._logs: dict[Path, PairsLog] = {}
        self._answers = Answers(self.stats)
        self._distrustful: set[str] = set()

    # -- options -----------------------------------------------------------------

    def load(self, loader: addonmanager.Loader) -> None:
        """Declare the options and the view."""
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
            "Fixes not to apply: fix-name or host:fix-name.",
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
        contentviews.add(BeforeAfter)

    def configure(self, updated: set[str]) -> None:
        """Take changed options over.

        Raises:
            OptionsError: A value is bad; mitmproxy keeps the old one.
        """
        if ctx.options.normalize_mode not in _MODES:
            raise exceptions.OptionsError(
                f"normalize_mode: {ctx.options.normalize_mode!r} is no mode; give "
                "repair or observe"
            )
        if "normalize_hosts" in updated:
            try:
                self.hosts = Hosts.parse(ctx.options.normalize_hosts)
            except ValueError as error:
                raise exceptions.OptionsError(f"normalize_hosts: {error}") from None
        if "normalize_skip" in updated:
            self.skips = [_skip(text) for text in ctx.options.normalize_skip]
        if "normalize_pairs_size" in updated:
            size = _size(ctx.options.normalize_pairs_size)
            if self._log is not None:
                self._log.size = size
        if "normalize_pairs" in updated:
            _check_pairs_path(ctx.options.normalize_pairs)
            self._log = None  # running answers keep theirs

    def done(self) -> None:
        """Write what is left of the logs; after a reload, when open streams end."""
        if ctx.master.should_exit.is_set():
            self._answers.close_all()
            self._close_logs()
        else:
            for log in self._logs.values():
                log.share()
            self._answers.hand_over(self._close_logs)

    def _close_logs(self) -> None:
        for log in self._logs.values():
            log.close()

    # -- commands ----------------------------------------------------------------

    @command.command("normalize.stats")
    def stats_command(self) -> types.Data:
        """Show what was repaired, by host, model and fix."""
        return cast(types.Data, list(self.stats.rows()))

    @command.command("normalize.fixes")
    def fixes_command(self) -> types.Data:
        """Show all fixes, and which of them are skipped."""
        rows = [["fix", "skipped", "change"]]
        for fix in FIXES:
            where = [
                "everywhere" if host is None else f"on {host}"
                for host, name in self.skips
                if name == fix.name
            ]
            rows.append([fix.name, ", ".join(where), fix.changes])
        return cast(types.Data, rows)

    # -- TLS ---------------------------------------------------------------------

    def tls_clienthello(self, data: tls.ClientHelloData) -> None:
        """Leave the TLS of hosts that are not ours closed."""
        if (
            not ctx.options.normalize_only
            or ctx.options.allow_hosts  # names what to open: the user's word
            or is_reverse(data.context.client.proxy_mode)
        ):
            return
        if data.context.server.address is None:
            return  # TLS with the proxy itself; which host is meant comes inside
        host, port, *_ = data.context.server.address
        if not (
            self.hosts.include(data.client_hello.sni, port)
            or self.hosts.include(host, port)
        ):
            data.ignore_connection = True

    def tls_failed_client(self, data: tls.TlsData) -> None:
        """Say what to do when a client does not trust mitmproxy's CA."""
        reason = data.conn.error or ""
        if not any(each in reason for each in _DISTRUST):
            return  # it hung up, or speaks another TLS
        host = data.conn.sni or (data.context.server.address or ("?",))[0]
        if host in self._distrustful:
            return
        self._distrustful.add(host)
        certificate = Path(ctx.options.confdir).expanduser() / "mitmproxy-ca-cert.pem"
        logger.warning(
            "normalize: a client refused the connection to %s: it does not trust "
            "mitmproxy's CA. Install %s in the client or the system, or set "
            "NODE_EXTRA_CA_CERTS (Node, Electron) or SSL_CERT_FILE (Python) to it.",
            brief(host),
            certificate,
        )

    # -- requests and answers ----------------------------------------------------

    def requestheaders(self, flow: http.HTTPFlow) -> None:
        """Ask for a plain answer: what is not compressed need not be undone."""
        if is_ours(flow, self.hosts):
            self._answers.expect(flow)
            if ctx.options.normalize_mode == "repair":
                flow.request.headers["accept-encoding"] = "identity"

    def responseheaders(self, flow: http.HTTPFlow) -> None:
        """Decide how the answer passes: its headers leave right after this."""
        response = flow.response
        assert response is not None
        if is_ours(flow, self.hosts):
            try:
                self._answers.begin(flow, self._settings(flow))
            except Exception:
                name = brief(flow.request.host)
                logger.exception("normalize: %s passes as it is", name)
            else:
                return
        if is_selected(flow, self.hosts) and answers_events(response):
            # mitmproxy would hold the whole stream back until its end.
            response.stream = response.stream or True

    def response(self, flow: http.HTTPFlow) -> Awaitable[None] | None:
        """Repair an answer in one piece, or close the record of a stream.

        mitmproxy awaits what a hook returns (mitmproxy/addonmanager.py).
        """
        return self._answers.end(flow)

    def error(self, flow: http.HTTPFlow) -> None:
        """Close the record of an answer that broke off, or never came."""
        self._answers.broke(flow, lambda: self._settings(flow))

    # -- what counts for one answer ----------------------------------------------

    def _settings(self, flow: http.HTTPFlow) -> Settings:
        request = flow.request
        # Either may be the name that the user knows: behind a kept host header, say.
        hosts = {request.host, request.pretty_host}
        off = {
            name
            for pattern, name in self.skips
            if pattern is None
            or any(pattern.matches(host, request.port) for host in hosts)
        }
        return Settings(
            fixes=[fix for fix in FIXES if fix.name not in off],
            observe=ctx.options.normalize_mode == "observe",
            strict=ctx.options.normalize_strict,
            log=self._pairs_log(),
            shown=is_shown(),
        )

    def _pairs_log(self) -> PairsLog | None:
        """Return the pairs log, begun with the first answer that needs it."""
        if self._log is None and ctx.options.normalize_pairs:
            try:
                self._log = self._log_at(_pairs_path(ctx.options.normalize_pairs))
            except Exception:  # no log, but no answer goes unrepaired for it
                logger.exception("normalize: there is no pairs log")
        return self._log

    def _log_at(self, path: Path) -> PairsLog:
        log = self._logs.get(path)  # the option may have changed back
        size = _size(ctx.options.normalize_pairs_size)
        if log is None:
            log = self._logs[path] = PairsLog(
                path, size, lambda text: logger.warning("normalize: %s", text)
            )
        log.size = size
        return log


def _skip(text: str) -> tuple[HostPattern | None, str]:
    host, _, name = text.strip().rpartition(":")
    if name not in {fix.name for fix in FIXES}:
        raise exceptions.OptionsError(
            f"normalize_skip: {text!r} names no fix; "
            "the command normalize.fixes lists them"
        )
    try:
        return (HostPattern.parse(host) if host else None), name
    except ValueError as error:
        raise exceptions.OptionsError(f"normalize_skip: {text!r}: {error}") from None


def _size(text: str) -> int:
    try:
        size = human.parse_size(text)
    except ValueError:
        size = None
    if size is None or size <= 0:
        raise exceptions.OptionsError(
            f"normalize_pairs_size: {text!r} is no size; give a number of bytes such "
            "as 64m"
        )
    return size


def _check_pairs_path(text: str) -> None:
    reason = "it has a NUL" if "\0" in text else ""
    try:
        if text and not reason and _pairs_path(text).is_dir():
            reason = "it is a folder; name a file in it"
    except (RuntimeError, OSError) as error:
        reason = str(error)
    if reason:
        raise exceptions.OptionsError(f"normalize_pairs: {text!r}: {reason}")


def _pairs_path(text: str) -> Path:
    server = ctx.master.addons.get("proxyserver")
    addresses = server.listen_addrs() if server else []
    port = addresses[0][1] if addresses else ctx.options.listen_port or 8080
    confdir = str(Path(ctx.options.confdir).expanduser())
    values = {"CONFDIR": confdir, "PORT": str(port)}
    # Whole words only: /srv/EXPORT holds no placeholder.
    path = re.sub(r"\b(CONFDIR|PORT)\b", lambda found: values[found[1]], text)
    return Path(path).expanduser()
