"""The addon: options, commands and hooks. What to repair is decided elsewhere."""

import functools
import logging
import re
from collections.abc import Sequence
from http import HTTPStatus
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
from mitmproxy.proxy import mode_specs
from mitmproxy.utils import human

from .body import repair_body
from .decoding import Decoder, decoder_for
from .fix import Fix
from .fixes import FIXES
from .pairs import PairsLog, Record
from .pipeline import Pipeline
from .record import KEY, Answer
from .selection import PROVIDERS, HostPattern, Hosts, is_chat_request, is_event_stream
from .stats import Stats
from .stream import Rewriter
from .stream_state import Asked
from .view import BeforeAfter

logger = logging.getLogger(__name__)

_MODES = ("repair", "observe")
DEFAULT_PAIRS = "CONFDIR/normalize/pairs-PORT.jsonl"
_COOKIE = 8
_DISTRUST = ("unknown ca", "bad certificate", "certificate unknown")
"""Alerts of a client that does not trust a certificate (mitmproxy's layers/tls.py)."""
_SECRET_HEADERS = ("authorization", "api-key", "x-api-key", "x-goog-api-key", "cookie")


class Normalize:
    """Repairs the answers of nearly OpenAI-compatible providers."""

    name = "llm_normalize"  # two addons with one name refuse to load

    def __init__(self) -> None:
        self.hosts = Hosts.parse(PROVIDERS)
        self.skips: list[tuple[HostPattern | None, str]] = []
        self.stats = Stats()
        self._log: PairsLog | None = None
        self._logs: dict[Path, PairsLog] = {}
        self._answers: dict[str, tuple[Answer, Asked, Rewriter | None]] = {}
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
            self._log = None  # running answers keep theirs

    def done(self) -> None:
        """Write what is left of the logs."""
        open_ = list(self._answers.values())
        self._answers.clear()
        if not ctx.master.should_exit.is_set():
            # A reload: open streams go on, with this code and without its hooks.
            streams = [(answer, each) for answer, _, each in open_ if each is not None]
            left = len(streams)

            def ended(answer: Answer, rewriter: Rewriter) -> None:
                nonlocal left
                self._close(answer, rewriter, 200, "complete")
                left -= 1
                if not left:
                    self._close_logs()

            for answer, rewriter in streams:
                rewriter.on_end = functools.partial(ended, answer, rewriter)
            if not streams:
                self._close_logs()
            return
        for answer, _, running in open_:
            if running is not None:
                running.pipeline.abandon()
            self._close(answer, running, None, "upstream-broke")
        self._close_logs()

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
            or _is_reverse(data.context.client.proxy_mode)
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
            host,
            certificate,
        )

    # -- requests and answers ----------------------------------------------------

    def requestheaders(self, flow: http.HTTPFlow) -> None:
        """Ask for a plain answer: what is not compressed need not be undone."""
        if self._is_ours(flow) and not self._observes():
            flow.request.headers["accept-encoding"] = "identity"

    def responseheaders(self, flow: http.HTTPFlow) -> None:
        """Decide how the answer passes: its headers leave right after this."""
        response = flow.response
        assert response is not None
        if self._is_ours(flow):
            try:
                self._begin(flow, response)
            except Exception:
                logger.exception("normalize: %s passes as it is", flow.request.host)
        elif self._is_selected(flow) and is_event_stream(
            response.headers.get("content-type", "")
        ):
            # mitmproxy would hold the whole stream back until its end.
            response.stream = response.stream or True

    def response(self, flow: http.HTTPFlow) -> None:
        """Repair an answer in one piece, or close the record of a stream."""
        found = self._answers.pop(flow.id, None)
        if found is None or flow.response is None:
            return
        answer, asked, rewriter = found
        if rewriter and not rewriter.bytes_in and flow.response.raw_content:
            # Made by another addon, or a server replay: it never passed the rewriter.
            made = rewriter(flow.response.raw_content) + rewriter(b"")
            flow.response.data.content = b"".join(made)
        if rewriter is None:
            self._repair_whole(flow, flow.response, answer, asked)
        else:
            end = "upstream-broke" if rewriter.given_up else "complete"
            record = self._close(answer, rewriter, flow.response.status_code, end)
            self._keep(flow, answer, record)

    def error(self, flow: http.HTTPFlow) -> None:
        """Close the record of an answer that broke off, or never came."""
        found = self._answers.pop(flow.id, None)
        if found is None:
            if self._is_ours(flow) and flow.response is None:
                asked = Asked.from_body(flow.request.get_content(strict=False))
                gateway = None if _client_left(flow) else int(HTTPStatus.BAD_GATEWAY)
                self._close(self._answer(flow, asked), None, gateway, "error")
            return
        answer, _, rewriter = found
        left = _client_left(flow)
        if rewriter is not None and rewriter.pipeline.abandon():
            logger.warning(
                "normalize: %s broke off while a finish reason waited", answer.host
            )
        status = flow.response.status_code if flow.response else None
        if flow.response and not flow.response.stream:
            # Nothing had been sent: mitmproxy answers in the provider's place.
            status = None if left else int(HTTPStatus.BAD_GATEWAY)
        record = self._close(
            answer, rewriter, status, "client-left" if left else "upstream-broke"
        )
        self._keep(flow, answer, record)

    # -- one answer --------------------------------------------------------------

    def _begin(self, flow: http.HTTPFlow, response: http.Response) -> None:
        asked = Asked.from_body(flow.request.get_content(strict=False))
        if flow.request.raw_content is None:
            # Sent on unread (stream_large_bodies): the answer tells what was asked.
            asked = Asked(
                stream=is_event_stream(response.headers.get("content-type", ""))
            )
        answer = self._answer(flow, asked)
        self._answers[flow.id] = (answer, asked, None)
        if not asked.stream or not 200 <= response.status_code < 300:  # noqa: PLR2004
            return
        if callable(response.stream):
            logger.warning(
                "normalize: another addon streams %s; it stays as it is", answer.host
            )
            return
        encoding = response.headers.get("content-encoding", "")
        decoder = decoder_for(encoding)
        if decoder is None:
            logger.warning(
                "normalize: %s answers in an encoding that is not undone (%s); "
                "it stays as it is",
                answer.host,
                encoding,
            )
            response.stream = True
            return
        rewriter = self._rewriter(flow, answer, asked, decoder)
        if not answer.observe:
            _prepare_headers(flow.request, response)
        response.stream = rewriter
        self._answers[flow.id] = (answer, asked, rewriter)

    def _rewriter(
        self, flow: http.HTTPFlow, answer: Answer, asked: Asked, decoder: Decoder
    ) -> Rewriter:
        label = f"normalize: {answer.host} (flow {flow.id})"
        return Rewriter(
            Pipeline(asked, self._fixes(flow), answer.step, label),
            decoder,
            repair=not answer.observe,
            give_up=lambda: _break_off(flow),
            sent=answer.sent,
            label=label,
        )

    def _answer(self, flow: http.HTTPFlow, asked: Asked) -> Answer:
        request = flow.request
        log = self._pairs_log()
        secrets = _secrets(request)

        def write(record: Record) -> None:
            if log is not None:
                log.write(record, secrets)

        return Answer(
            flow=flow.id,
            host=_host(flow),
            path=request.path.partition("?")[0],
            model=asked.model,
            stream=asked.stream,
            observe=self._observes(),
            asked_at=request.timestamp_end or request.timestamp_start,
            write=write,
        )

    def _repair_whole(
        self,
        flow: http.HTTPFlow,
        response: http.Response,
        answer: Answer,
        asked: Asked,
    ) -> None:
        """Repair an answer in one piece."""
        raw = response.raw_content
        size = len(raw or b"")
        try:
            content = response.get_content()
        except ValueError:
            content = None  # in an encoding that is not undone: passes as it is
        events = 0
        if content:
            events = 1
            step = repair_body(
                content,
                response.status_code,
                asked,
                self._fixes(flow),
                f"normalize: {answer.host} (flow {flow.id})",
            )
            answer.step(step)
            if step.changed and not answer.observe:
                response.content = step.after[0]
                if "json" not in response.headers.get("content-type", ""):
                    response.headers["content-type"] = "application/json"
        record = self._write_end(
            answer,
            response.status_code,
            "complete",
            (events, size, len(response.raw_content or b"")),
        )
        flow.metadata[KEY] = answer.metadata(record)

    def _close(
        self,
        answer: Answer,
        rewriter: Rewriter | None,
        status: int | None,
        end: str,
    ) -> Record:
        figures = (0, 0, 0)
        if rewriter is not None:
            figures = (
                rewriter.pipeline.events,
                rewriter.bytes_in,
                rewriter.bytes_out,
            )
        return self._write_end(answer, status, end, figures)

    def _write_end(
        self,
        answer: Answer,
        status: int | None,
        end: str,
        figures: tuple[int, int, int],
    ) -> Record:
        record = answer.close(status, end, *figures)
        self.stats.add(answer.host, answer.model, record["fixes"])
        if record["fixes"]:
            logger.info(
                "normalize: %s %s: %d of %d events %s (%s)",
                answer.host,
                answer.model,
                answer.changed,
                record["events"],
                "would be repaired" if answer.observe else "repaired",
                ", ".join(f"{name} {count}" for name, count in record["fixes"].items()),
            )
        return record

    def _keep(self, flow: http.HTTPFlow, answer: Answer, record: Record) -> None:
        """Let mitmweb and `-w` files show what was sent, and the view what changed."""
        flow.metadata[KEY] = answer.metadata(record)
        if flow.response is not None and not flow.response.raw_content:
            # Not the `content` setter: it would encode, and set a content-length.
            flow.response.data.content = bytes(answer.body)

    # -- small questions ---------------------------------------------------------

    def _observes(self) -> bool:
        return bool(ctx.options.normalize_mode == "observe")

    def _is_selected(self, flow: http.HTTPFlow) -> bool:
        request = flow.request
        return (
            _is_reverse(flow.client_conn.proxy_mode)
            or self.hosts.include(request.host, request.port)
            or self.hosts.include(request.pretty_host, request.port)
        )

    def _is_ours(self, flow: http.HTTPFlow) -> bool:
        request = flow.request
        return is_chat_request(request.method, request.path) and self._is_selected(flow)

    def _fixes(self, flow: http.HTTPFlow) -> list[type[Fix]]:
        host, port = _host(flow), flow.request.port
        off = {
            name
            for pattern, name in self.skips
            if pattern is None or pattern.matches(host, port)
        }
        return [fix for fix in FIXES if fix.name not in off]

    def _pairs_log(self) -> PairsLog | None:
        """Return the pairs log, begun with the first answer that needs it."""
        if self._log is None and ctx.options.normalize_pairs:
            path = _pairs_path(ctx.options.normalize_pairs)
            size = _size(ctx.options.normalize_pairs_size)
            self._log = self._logs.get(path)  # the option may have changed back
            if self._log is None:
                self._log = self._logs[path] = PairsLog(
                    path, size, lambda text: logger.warning("normalize: %s", text)
                )
            self._log.size = size
        return self._log


def _break_off(flow: http.HTTPFlow) -> None:
    """Break off an answer in mid-stream.

    A kill alone is seen at the stream's end only (mitmproxy #4711), so the provider's
    connection is closed as if it had broken; the kill is for answers whose clean end
    that would be.
    """
    if flow.killable:
        flow.kill()
    open_ = ctx.master.addons.get("proxyserver").connections
    connection = open_.get(flow.client_conn.id)
    if connection is not None and flow.server_conn.connected:
        connection.close_connection(flow.server_conn)


def _client_left(flow: http.HTTPFlow) -> bool:
    """Tell whether it was the client that ended *flow*.

    mitmproxy says "stream reset by client" of either side's HTTP/2 reset
    (mitmproxy/proxy/layers/http/_http2.py); only a client has a reason to cancel.
    """
    message = flow.error.msg.lower() if flow.error else ""
    if not flow.client_conn.connected or "client disconnected" in message:
        return True
    if "stream reset by client" not in message:
        return False
    if not (flow.response and flow.response.is_http2):
        return True
    return flow.request.is_http2 and "(cancel)" in message


def _host(flow: http.HTTPFlow) -> str:
    return flow.request.pretty_host


def _is_reverse(mode: mode_specs.ProxyMode) -> bool:
    return isinstance(mode, mode_specs.ReverseMode)


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


def _pairs_path(text: str) -> Path:
    addresses = ctx.master.addons.get("proxyserver").listen_addrs()
    port = addresses[0][1] if addresses else ctx.options.listen_port or 8080
    confdir = str(Path(ctx.options.confdir).expanduser())
    values = {"CONFDIR": confdir, "PORT": str(port)}
    # Whole words only: /srv/EXPORT holds no placeholder.
    path = re.sub(r"\b(CONFDIR|PORT)\b", lambda found: values[found[1]], text)
    return Path(path).expanduser()


def _secrets(request: http.Request) -> tuple[str, ...]:
    """Return what in the request's headers and query must not reach a log."""
    values = [
        value for name in _SECRET_HEADERS for value in request.headers.get_all(name)
    ]
    values += [value.partition(" ")[2].strip() for value in values]  # after its scheme
    values += [
        value for name, value in request.query.items(multi=True) if "key" in name
    ]
    # A cookie's short values, such as a theme's name, would blacken ordinary words.
    cookies = (value for _, value in request.cookies.items(multi=True))
    values += [value for value in cookies if len(value) >= _COOKIE]
    return tuple(sorted(filter(None, set(values)), key=len, reverse=True))


def _prepare_headers(request: http.Request, response: http.Response) -> None:
    """Make the headers fit a body whose length and encoding change as it passes."""
    headers = response.headers
    headers.pop("content-encoding", None)
    kind = headers.get("content-type", "")
    if not is_event_stream(kind) and "json" not in kind:
        headers["content-type"] = "text/event-stream"
    sized = headers.pop("content-length", None) is not None
    if request.http_version == "HTTP/1.0":
        headers.pop("transfer-encoding", None)  # it ends when the connection does
    elif request.is_http11 and (sized or response.is_http2 or response.is_http3):
        headers["transfer-encoding"] = "chunked"
