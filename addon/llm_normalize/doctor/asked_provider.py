"""The provider that is asked: its answer to each request, and when that arrived.

Nothing is followed: the key is for the host that was named. An answer is bounded in
bytes and in time, and this module returns none that has the key in it.
"""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from http import HTTPStatus
from http.client import HTTPResponse
from urllib.parse import urlsplit

from mitmproxy import http

from .. import __version__
from ..exchange.message.request_facts import secrets_of
from ..routing.key_echo import SEARCHED, without
from ..text.network_address import is_loopback
from ..text.printable import brief
from ..wire.content_encoding import CorruptBodyError, Decoder, decoder_for
from ..wire.json_text import dumps
from ..wire.sse import Event, EventParser
from .http_request import ConnectError, DisconnectedError, posted, reads
from .probes import JSON_TYPE, PENDING_HEADER, Answer, Request

LARGE = 2 * 1024 * 1024
"""Bytes of an answer that are read; what is asked for needs some kB."""


class AskError(Exception):
    """Why nothing could be asked, as one sentence."""


class NoAnswerError(AskError):
    """A request got no answer; another one may."""


class Secrets:
    """The key, and what else in the request must not be shown, however it is spelled.

    Args:
        url: Where the request goes; its query may hold a key.
        headers: The request's headers.
    """

    def __init__(self, url: str, headers: dict[str, str]) -> None:
        query = f"http://provider/?{urlsplit(url).query}"
        fields = [(name.encode(), value.encode()) for name, value in headers.items()]
        found = secrets_of(http.Request.make("POST", query, headers=fields))
        self._found = [each.encode("utf-8", "surrogateescape") for each in found]

    def masked(self, text: str) -> str:
        """*text* without them."""
        data = self.masked_bytes(text.encode("utf-8", "surrogatepass"))
        return data.decode("utf-8", "surrogatepass")

    def masked_bytes(self, data: bytes) -> bytes:
        """*data* without them."""
        for secret in self._found:
            data = without(data, secret, is_thorough=False)  # also what spans two parts
            parts = range(0, len(data), SEARCHED)
            data = b"".join(without(data[at : at + SEARCHED], secret) for at in parts)
        return data


@dataclass
class _Coming:
    """An answer on its way."""

    started: float = field(default_factory=time.monotonic)
    answer: Answer | None = None
    data: bytearray = field(default_factory=bytearray)
    _parser: EventParser = field(default_factory=EventParser)

    def feed(self, part: bytes) -> None:
        """Take what one read brought, decoded."""
        assert self.answer is not None
        self.data += part
        if any(_says(item) for item in self._parser.feed(part)):
            self.answer.last_ms = self.since()
            if self.answer.first_ms is None:
                self.answer.first_ms = self.answer.last_ms

    def since(self) -> float:
        """The milliseconds since the request was sent."""
        return round((time.monotonic() - self.started) * 1000, 1)


def _says(item: object) -> bool:
    return isinstance(item, Event) and (item.is_value or item.data is not None)


class Provider:
    """Where requests go.

    Args:
        url: The address of chat/completions.
        key: The key; empty for none.
        timeout: Seconds that one request may take.
    """

    def __init__(self, url: str, key: str, timeout: float) -> None:
        self.url = url
        self.host = urlsplit(url).netloc
        self._timeout = timeout
        self._headers = {
            "accept": "*/*",
            # What openai-python says, so that a provider that compresses streams does.
            "accept-encoding": "gzip, deflate",
            "content-type": JSON_TYPE,
            "user-agent": f"llm-normalize/{__version__}",
        }
        if key:
            self._headers["authorization"] = f"Bearer {key}"
        self.has_key = bool(key)
        self.secrets = Secrets(url, self._headers)
        self.place = brief(self.secrets.masked(url.partition("?")[0]))

    def ask(self, request: Request) -> Answer:
        """The answer to *request*.

        Raises:
            AskError: There is none.
        """
        coming = _Coming()
        broke = ""
        try:
            _within(self._timeout, lambda: self._receive(request, coming))
        except TimeoutError:
            waited = f"within {self._timeout:g} s"
            if coming.answer is None:
                raise NoAnswerError(f"{self._name} did not answer {waited}") from None
            broke = f"it was not complete {waited}"
        except CorruptBodyError as error:
            broke = f"the compressed body is corrupt ({brief(str(error))})"
        except ConnectError as error:
            raise AskError(self._shown(error)) from None
        except ValueError as error:
            raise AskError(
                f"it cannot be asked that way: {self._shown(error)}"
            ) from None
        except DisconnectedError as error:
            if coming.answer is None:
                raise NoAnswerError(
                    f"{self._name} gave no answer: {self._shown(error)}"
                ) from None
            broke = "the connection broke off before the end of the answer"
        answer = coming.answer
        assert answer is not None
        answer.broke = answer.broke or broke
        answer.total_ms = coming.since()
        answer.data = self.secrets.masked_bytes(bytes(coming.data))
        return answer

    @property
    def _name(self) -> str:
        return brief(self.host)

    def _shown(self, error: Exception) -> str:
        return brief(self.secrets.masked(str(error)))

    def _receive(self, request: Request, coming: _Coming) -> None:
        """Send *request* and read its answer into *coming*."""
        loopback = is_loopback(urlsplit(self.url).hostname or "")
        with posted(
            self.url,
            self._headers,
            dumps(request.body),
            may_use_proxy=not loopback,  # what is here needs none
        ) as response:
            coming.answer, decoder = self._begun(request, response)
            if decoder is None:
                return  # what cannot be read is not looked at: the key may be in it, too
            for raw in reads(response):
                for part in decoder.feed(raw):
                    coming.feed(part)
                    if len(coming.data) > LARGE:
                        coming.answer.broke = f"it is longer than {LARGE >> 20} MiB"
                        return

    def _begun(
        self, request: Request, response: HTTPResponse
    ) -> tuple[Answer, Decoder | None]:
        """The answer whose head has come, and what undoes its encoding.

        Raises:
            AskError: It is no answer, but names another place.
        """
        status = response.status
        if status // 100 == 3:  # noqa: PLR2004 - a redirect
            place = brief(self.secrets.masked(response.getheader("location", "")))
            raise AskError(
                f"{self._name} answers with {status} and names {place}; "
                "not followed: the key is for the host that you named"
            )
        encoding = self.secrets.masked(response.getheader("content-encoding", ""))
        decoder = decoder_for(encoding)
        answer = Answer(
            name=request.name,
            body=request.body,
            status=status,
            content_type=self.secrets.masked(response.getheader("content-type", "")),
            pending=status == HTTPStatus.ACCEPTED
            and bool(response.getheader(PENDING_HEADER, "")),
            encoding=encoding,
            wants_error=request.wants_error,
        )
        if decoder is None:
            answer.broke = f"the encoding {brief(encoding)} is not supported"
        return answer, decoder


def _within(seconds: float, work: Callable[[], None]) -> None:
    """Do *work*, which goes on in a thread of its own if it takes longer.

    Raises:
        TimeoutError: It does.
    """
    done = Future[None]()

    def run() -> None:
        try:
            work()
            done.set_result(None)
        except BaseException as error:  # noqa: BLE001 - raised where it is waited for
            done.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    done.result(seconds)
