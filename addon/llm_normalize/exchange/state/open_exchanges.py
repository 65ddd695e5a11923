"""The exchanges that are open, and which of them go to a selected host."""

from collections.abc import Callable, Iterator

from mitmproxy import http

from ...mitm.reverse_proxy import sent_host
from ...routing.hosts import Hosts
from ...routing.routes import is_reverse
from ..message.request_facts import named_host
from .exchange import HANDED_OVER, Exchange

MAX_OPEN = 100_000
"""Exchanges that are open at a time; more are flows that mitmproxy has never ended."""

type _Place = tuple[str, int, bytes, str]
"""Where a request goes: host, port and scheme, and what its client calls the host."""


class OpenExchanges:
    """The exchange of each flow, from `requestheaders` until it is closed.

    A flow is known by its object: a copy that is loaded from a file, or replayed from one,
    may have the id of one that is under way.

    Args:
        abandon: Closes an exchange whose flow never ended.

    Attributes:
        hosts: The hosts that are selected, for exchanges that begin from now on.
    """

    def __init__(self, abandon: Callable[[Exchange], None]) -> None:
        self.hosts = Hosts()
        self._abandon = abandon
        self._open: dict[http.HTTPFlow, tuple[Exchange, _Place]] = {}

    def __iter__(self) -> Iterator[Exchange]:
        """Yield those that are open; they may be closed meanwhile."""
        return (exchange for exchange, _ in [*self._open.values()])

    def begin(self, flow: http.HTTPFlow) -> Exchange:
        """Return a new exchange, of a request whose headers have arrived."""
        older = self._open.get(flow)
        if older is None and len(self._open) >= MAX_OPEN:
            older = next(iter(self._open.values()))
        if older is not None:
            self._abandon(older[0])
        return self._add(Exchange(flow))

    def of(self, flow: http.HTTPFlow) -> Exchange:
        """Return the exchange of *flow*.

        Its host is looked up once, and once more where another addon has sent the request
        elsewhere.
        """
        found = self._open.get(flow)
        if found is None:
            return self._add(Exchange.resume(flow))
        exchange, before = found
        now = _place(flow.request)
        if now != before:
            exchange.settings = None
            if exchange.route is None:
                self._add(exchange)
            else:
                self._open[flow] = exchange, now
        return exchange

    def get(self, flow: http.HTTPFlow) -> Exchange | None:
        """Return the exchange of *flow* if it is open."""
        return self._open.get(flow, (None,))[0]

    def close(self, exchange: Exchange) -> bool:
        """Let *exchange* go; tell whether it was open until now."""
        flow = exchange.flow
        if self.get(flow) is exchange:
            del self._open[flow]
        flow.metadata.pop(HANDED_OVER, None)
        if exchange.slot is not None:
            exchange.slot.end()
        was_open, exchange.is_open = exchange.is_open, False
        return was_open

    def clear(self) -> None:
        """Let all go, at a reload or when mitmproxy ends."""
        self._open.clear()

    def _add(self, exchange: Exchange) -> Exchange:
        flow = exchange.flow
        exchange.is_on_selected_host = is_on_selected_host(flow, self.hosts)
        if flow.live:  # else it was loaded from a file, and no hook will end it
            self._open[flow] = exchange, _place(flow.request)
        return exchange


def _place(request: http.Request) -> _Place:
    data = request.data
    return data.host, data.port, data.scheme, sent_host(request)


def is_on_selected_host(flow: http.HTTPFlow, hosts: Hosts) -> bool:
    """Tell whether *flow* goes to one of *hosts*; a reverse proxy's upstream is one.

    Not so a flow that is loaded from a file: mitmproxy runs its hooks, too
    (mitmproxy/master.py, `load_flow`), but it has been repaired, or not, long ago.
    """
    request = flow.request
    return bool(flow.live) and (
        is_reverse(flow.client_conn.proxy_mode)
        or hosts.include(request.host, request.port)
        or hosts.include(named_host(request), request.port)
    )
