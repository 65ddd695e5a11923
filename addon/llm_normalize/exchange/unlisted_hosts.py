"""Hosts that are open, answer chat completions, and are not repaired: logged once each."""

import logging

from mitmproxy import http

from ..routing.gate import is_asked
from ..routing.hosts import Hosts, adding
from ..text.printable import brief
from .message.request_facts import place_of

logger = logging.getLogger(__name__)

HOSTS = 100
"""Hosts that are named; the clients choose their names."""


class UnlistedHosts:
    """Those that have been named."""

    def __init__(self) -> None:
        self._named: set[str] = set()

    def note(self, flow: http.HTTPFlow, opened: Hosts) -> None:
        """Name the host of *flow*, not one of those *opened*, if it is a chat."""
        if not flow.live or not is_asked(flow.request):
            return
        place = brief(place_of(flow.request))
        if place in self._named or len(self._named) >= HOSTS:
            return
        self._named.add(place)
        logger.warning(
            "normalize: chat completions of %s pass unrepaired: it is not in "
            "normalize_hosts. To add it: %s",
            place,
            adding(place, [*map(str, opened.patterns)]),
        )
