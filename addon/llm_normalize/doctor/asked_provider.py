"""The provider that is asked: its answer to each request, and when that arrived.

Nothing is followed: the key is for the host that was named. An answer is bounded in
bytes and in time, and this module returns none that has the key in it.
"""

import asyncio
import time
from dataclasses import dataclass, field
from http import HTTPStatus
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
from .http_request import ConnectError, DisconnectedError, Response, posted
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

    started: float
    decoder: Decoder
    data: bytearray = field(default_factory=bytearray)
    first: float | None = None
    last: float | None = None
    _parser: EventParser = field(default_factory=EventParser)

    def feed(self, raw: bytes) -> None:
        """Take what one read brought.

        Raises:
            CorruptBodyError: It cannot be decoded.
        """
        for part in self.decoder.feed(raw):
            self.data += part
            if any(_says(item) for item in self._parser.feed(part)):
                self.last = self.since()
                self.first = self.last if self.first is None else self.first
            if len(self.data) > LARGE:
                return

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
        try:
            return asyncio.run(self._ask(request))
        except ConnectError as error:
            raise AskError(brief(self.secrets.masked(str(error)))) from None
        except ValueError as error:
            why = self.secrets.masked(str(error))
            raise AskError(f"it cannot be asked that way: {brief(why)}") from None

    @property
    def _name(self) -> str:
        return brief(self.host)

    async def _ask(self, request: Request) -> Answer:
        coming: _Coming | None = None
        answer: Answer | None = None
        decoder: Decoder | None = None
        loopback = is_loopback(urlsplit(self.url).hostname or "")
        try:
            async with asyncio.timeout(self._timeout):
                started = time.monotonic()
                async with posted(
                    self.url,
                    self._headers,
                    dumps(request.body),
                    may_use_proxy=not loopback,  # what is here needs none
                ) as response:
                    answer, decoder = self._begun(request, response)
                    coming = _Coming(started, decoder or Decoder())
                    async for raw in response.reads():
                        coming.feed(raw)
                        if len(coming.data) > LARGE:
                            answer.broke = f"it is longer than {LARGE >> 20} MiB"
                            break
        except TimeoutError:
            waited = f"within {self._timeout:g} s"
            if answer is None:
                raise NoAnswerError(f"{self._name} did not answer {waited}") from None
            answer.broke = f"it was not complete {waited}"
        except CorruptBodyError as error:
            assert answer is not None
            answer.broke = f"the compressed body is corrupt ({brief(str(error))})"
        except DisconnectedError as error:
            if answer is None:
                why = brief(self.secrets.masked(str(error)))
                raise NoAnswerError(f"{self._name} gave no answer: {why}") from None
            answer.broke = "the connection broke off before the end of the answer"
        assert answer is not None
        if coming is not None and decoder is not None:
            answer.first_ms, answer.last_ms = coming.first, coming.last
            answer.total_ms = coming.since()
            answer.data = self.secrets.masked_bytes(bytes(coming.data))
        return answer

    def _begun(
        self, request: Request, response: Response
    ) -> tuple[Answer, Decoder | None]:
        """The answer whose head has come, and what undoes its encoding.

        Raises:
            AskError: It is no answer, but names another place.
        """
        status = response.status
        if status // 100 == 3:  # noqa: PLR2004 - a redirect
            place = brief(self.secrets.masked(response.header("location")))
            raise AskError(
                f"{self._name} answers with {status} and names {place}; "
                "not followed: the key is for the host that you named"
            )
        encoding = self.secrets.masked(response.header("content-encoding"))
        decoder = decoder_for(encoding)
        answer = Answer(
            name=request.name,
            body=request.body,
            status=status,
            content_type=self.secrets.masked(response.header("content-type")),
            pending=status == HTTPStatus.ACCEPTED
            and bool(response.header(PENDING_HEADER)),
            encoding=encoding,
            wants_error=request.wants_error,
        )
        if decoder is None:
            # What cannot be read is not looked at: the key may be in it, too.
            answer.broke = f"the encoding {brief(encoding)} is not supported"
        return answer, decoder
