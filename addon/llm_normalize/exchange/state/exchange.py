"""One exchange: a client's request, its answer, and all that is known of both.

It is made when the request's headers arrive, and closed once: in `response`, in `error`,
at a reload, or when mitmproxy ends. `open_exchanges` finds the exchange of a flow. State
of a flow is elsewhere only where mitmproxy has no hook for it: a request has its key
(`routing.key_on_request`) and the `Host` that its client sent (`mitm.reverse_proxy`);
and `message_body` remembers by its message what is wrong with a body.
"""

from dataclasses import dataclass, replace
from typing import Any, Self

from mitmproxy import http

from ...protocols import Endpoint
from ...records.statistics import Stats
from ...request.adaptation import CHAT, TRANSLATED
from ...routing.gate import is_asked
from ...routing.key_on_request import GuardedKey
from ...routing.pace import Slot
from ...routing.routes import Routed
from ..request.adapted_request import Adapted, client_of
from ..request.native_answer import native_endpoint
from ..request.translated_request import TranslatedRequest
from .running_answer import RunningAnswer
from .settings import Settings

HANDED_OVER = "llm_normalize_handed_over"
"""Where a flow's metadata has, from a reload to its next hook, its route and model."""


@dataclass(eq=False, slots=True)
class Exchange:
    """One request of a client and its answer.

    Attributes:
        flow: mitmproxy's flow.
        is_on_selected_host: Whether its client asks a host whose answers are repaired;
            decided once, see `open_exchanges`.
        route: Where its client sent it and where it goes, if it has a route.
        waits_for_model: Whether its model, which is not known yet, may give it another.
        is_let_in: Whether its client has presented the token of the gate.
        wants_models: Whether it asks for a list of models that gets more names.
        key: The proxy's key on its request, if there is one.
        mapped_model: The model asked for, where another one is sent.
        endpoint: Where its client sent it, if that may be translated.
        translated: What its client asked, if it is sent as chat.
        recalls: Whether it is because its path was not served to another request.
        instead: What its client gets in the place of the provider's answer.
        adapted: What was changed in its request.
        is_expected: Whether it has a record even if no answer comes.
        settings: The version of the options when they were looked up, and what counts
            for its answer; stale once they have another one.
        running: Its answer, from its headers until its record is written.
        slot: Its place among those of its credential, if its host's are paced.
        has_begun: Whether the headers of a stream were sent before its answer's.
        is_open: Whether it has not been closed yet.
    """

    flow: http.HTTPFlow
    is_on_selected_host: bool = False
    route: Routed | None = None
    waits_for_model: bool = False
    is_let_in: bool = False
    wants_models: bool = False
    key: GuardedKey | None = None
    mapped_model: str | None = None
    endpoint: Endpoint | None = None
    translated: TranslatedRequest | None = None
    recalls: bool = False
    instead: http.Response | None = None
    adapted: Adapted | None = None
    is_expected: bool = False
    settings: tuple[int, Settings] | None = None
    running: RunningAnswer | None = None
    slot: Slot | None = None
    has_begun: bool = False
    is_open: bool = True
    _client: bytes | None = None

    @property
    def response(self) -> http.Response:
        """Its answer, whose headers have arrived."""
        assert self.flow.response is not None
        return self.flow.response

    @property
    def is_selected(self) -> bool:
        """Whether the answers of its host are repaired; those of a route's target are."""
        is_routed = self.route is not None or self.waits_for_model
        return self.is_on_selected_host or is_routed

    @property
    def is_workers_ai(self) -> bool:
        """Whether its request runs a model by Workers AI's own API."""
        route = self.route
        goes_there = route is not None and route.target.is_workers_ai
        return goes_there and self.flow.request.method == "POST"

    @property
    def is_chat(self) -> bool:
        """Whether it asks a selected host for a chat completion."""
        return self.is_selected and (is_asked(self.flow.request) or self.is_workers_ai)

    @property
    def is_asked(self) -> bool:
        """Whether it asks a selected host for an answer in any protocol that is known."""
        return self.is_chat or self.native is not None

    @property
    def native(self) -> Endpoint | None:
        """Where it goes, if it asks a selected host for an answer in its own protocol."""
        return native_endpoint(self.flow.request) if self.is_selected else None

    @property
    def sent_as(self) -> str:
        """How its request is sent: as chat, as chat in a translation, or in a protocol."""
        if self.translated is not None:
            return TRANSLATED
        found = self.endpoint or self.native
        return CHAT if found is None else found.protocol.name

    @property
    def path(self) -> str:
        """The path that its client asked for, without its query."""
        asked = self.route or self.translated or self.flow.request
        return asked.path.partition("?")[0]

    @property
    def client(self) -> bytes:
        """A mark of its client's credentials and address, as they were at first."""
        if self._client is None:
            self._client = client_of(self.flow)
        return self._client

    @property
    def learner(self) -> bytes:
        """A mark of the client, and of the protocol in which it was refused something."""
        is_chat = self.sent_as in (CHAT, TRANSLATED)
        return self.client if is_chat else self.client + self.sent_as.encode()

    def expect(self) -> None:
        """Have a record written, also if no answer comes."""
        self.is_expected = True
        _ = self.client  # a key of the proxy's may take the place of the client's

    def new_answer(self, settings: Settings, stats: Stats) -> RunningAnswer:
        """Return its answer, which begins, or the record of one that never arrived."""
        self.is_expected = False
        if self.translated is not None:  # it cannot pass as it is any more
            settings = replace(settings, observe=False)
        running = RunningAnswer.of(
            self.flow,
            settings,
            self.adapted,
            mapped_model=self.mapped_model,
            path=self.path,
            translated=self.translated,
            native=self.native if self.translated is None else None,
        )
        running.slot, running.stats = self.slot, stats
        return running

    def hand_over(self) -> None:
        """Let the addon that is loaded next know its route, its model and its protocol.

        Its request may still be on its way to a server: it stays as it is.
        """
        route, translated = (
            each and each.state() for each in (self.route, self.translated)
        )
        found = [route, self.mapped_model, translated, self.has_begun or None]
        if any(each is not None for each in found):
            self.flow.metadata[HANDED_OVER] = found

    @classmethod
    def resume(cls, flow: http.HTTPFlow) -> Self:
        """Return the exchange of a flow that began before the addon was loaded."""
        found: Any = flow.metadata.pop(HANDED_OVER, None) if flow.live else None
        # Another version of the addon may have handed less over, or more.
        route, model, translated, has_begun = (*(found or ()), *[None] * 4)[:4]
        return cls(
            flow,
            route=route and Routed.of_state(route),
            mapped_model=model,
            has_begun=bool(has_begun),
            translated=translated and TranslatedRequest.of_state(flow, translated),
        )
