"""The requests that have a key, from when it is put on to their end."""

import logging
from copy import copy

from mitmproxy import http

from ..text.printable import brief
from .certificate_proof import is_proven
from .gate import refusal
from .key_echo import Field, hide, hide_in_head
from .key_headers import put, take_off
from .keys import Secret

logger = logging.getLogger(__name__)


class KeyedRequests:
    """The requests that have a key, and the keys that their answers may echo."""

    def __init__(self) -> None:
        self._flows: dict[str, http.HTTPFlow] = {}
        # Until the end, also of what has none any more; and which fields of the answer
        # are known not to have it.
        self._keys: dict[str, tuple[http.HTTPFlow, bytes, set[Field]]] = {}

    def add(self, flow: http.HTTPFlow, secret: Secret) -> bool:
        """Put a key on; tell whether there was one.

        It can be seen from when mitmproxy has chosen the connection, and only if that is
        one to the very server: no hook of another addon before that sees it, nor does it
        go along where one sends the request elsewhere.
        """
        request = flow.request
        try:
            key = secret.read()
        except ValueError as error:
            host = brief(request.host)
            logger.warning("normalize: normalize_keys: %s: %s", host, error)
            message = "The proxy has no key for this provider."
            flow.response = refusal(500, message, None)
            return False
        goal = request.scheme, request.host, request.port
        early = flow.server_conn = copy(flow.server_conn)

        def is_due() -> bool:
            server = flow.server_conn
            if server is early or goal != (request.scheme, request.host, request.port):
                return False
            return request.scheme == "http" or is_proven(server, request.host)

        put(flow, key, is_due)
        self._flows[flow.id] = flow
        self._keys[flow.id] = flow, key.encode(), set()
        return True

    def answered(self, flow: http.HTTPFlow) -> None:
        """Take what is echoed out of an answer's headers, which are about to leave."""
        if flow.id in self._keys and flow.response is not None:
            _, key, clean = self._keys[flow.id]
            hide_in_head(flow.response, key, clean)

    def take_off(self, flow: http.HTTPFlow) -> None:
        """Take the key off again, if there is one."""
        if self._flows.pop(flow.id, None) is not None:
            take_off(flow)

    def end(self, flow: http.HTTPFlow) -> None:
        """Take off the key of a flow that is over, and what is echoed of it."""
        self.take_off(flow)
        if flow.id in self._keys:
            hide(*self._keys.pop(flow.id))

    def done(self) -> None:
        """Do that with all flows: mitmproxy saves those that are under way, too."""
        for flow, *_ in [*self._keys.values()]:
            self.end(flow)
