"""Asks a provider, and takes down what came and when.

Nothing is followed: the key is for the host that was named. What came is bounded in
bytes and in time, and has no key in it any more when it leaves this module.
"""

import asyncio
import ssl
import time
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import httpx

from .answer import PENDING_HEADER, Answer
from .requests import Request
from .secrets import Secrets
from .command import is_loopback
from llm_normalize.text.printable import brief
from llm_normalize.wire.content_encoding import CorruptBodyError, Decoder, decoder_for
from llm_normalize.wire.sse import Event, EventParser

LARGE = 2 * 1024 * 1024
"""Bytes of an answer that are read; what is asked for needs some kB."""


class AskError(Exception):
    """Why nothing could be asked, as one sentence."""


class NoAnswerError(AskError):
    """A request got no answer; another one may."""


@dataclass
class _Coming:
    """An answer on its way."""

    started: float
    decoder: Decoder
    data: bytearray = field(default_factory=bytearray)
    first: float | None = None
    last: float | None = None
    _parser: EventParser = field(default_factory=EventParser)

    def take(self, raw: bytes) -> None:
        """Take what one read brought.

        Raises:
            CorruptBodyError: It cannot be decoded.
        """
        for piece in self.decoder.feed(raw):
            self.data += piece
            if any(_says(item) for item in self._parser.feed(piece)):
                self.last = self.since()
                self.first = self.last if self.first is None else self.first
            if len(self.data) > LARGE:
                return

    def since(self) -> float:
        """Return the milliseconds since the request was sent."""
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
        # What openai-python says, so that a provider that compresses streams does.
        self._headers = {"accept-encoding": "gzip, deflate"}
        if key:
            self._headers["authorization"] = f"Bearer {key}"
        self.has_key = bool(key)
        self.secrets = Secrets(url, self._headers)
        self.place = brief(self.secrets.masked(url.partition("?")[0]))

    def ask(self, request: Request) -> Answer:
        """Return the answer to *request*.

        Raises:
            AskError: There is none.
        """
        try:
            return asyncio.run(self._ask(request))
        except ssl.SSLError as error:  # of the certificates that are trusted
            raise AskError(f"no certificates can be read: {_why(error)}") from None
        except OSError as error:
            raise AskError(f"{self._name}: {_why(error)}") from None
        except (ImportError, ValueError, httpx.InvalidURL) as error:
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
            async with (
                asyncio.timeout(self._timeout),
                httpx.AsyncClient(
                    verify=httpx.create_ssl_context(),
                    trust_env=not loopback,  # what is here needs no proxy
                    follow_redirects=False,
                    timeout=self._timeout,
                ) as client,
            ):
                started = time.monotonic()
                async with client.stream(
                    "POST", self.url, json=request.body, headers=self._headers
                ) as response:
                    answer, decoder = self._begun(request, response)
                    coming = _Coming(started, decoder or Decoder())
                    async for raw in response.aiter_raw():
                        coming.take(raw)
                        if len(coming.data) > LARGE:
                            answer.broke = f"it is longer than {LARGE >> 20} MiB"
                            break
        except (TimeoutError, httpx.TimeoutException):
            waited = f"within {self._timeout:g} s"
            if answer is None:
                raise NoAnswerError(f"{self._name} did not answer {waited}") from None
            answer.broke = f"it had not come to its end {waited}"
        except CorruptBodyError as error:
            assert answer is not None
            answer.broke = f"the compressed body is corrupt ({brief(str(error))})"
        except httpx.HTTPError as error:
            if answer is None:
                why = self._unreachable(error)
                never = isinstance(error, httpx.ConnectError | httpx.ProxyError)
                raise (AskError(why) if never else NoAnswerError(why)) from None
            answer.broke = "the connection broke off before the end of the answer"
        assert answer is not None
        if coming is not None and decoder is not None:
            answer.data = self.secrets.masked_bytes(bytes(coming.data))
            answer.first_ms, answer.last_ms = coming.first, coming.last
            answer.total_ms = coming.since()
        return answer

    def _begun(
        self, request: Request, response: httpx.Response
    ) -> tuple[Answer, Decoder | None]:
        """Return the answer whose head has come, and what undoes its encoding.

        Raises:
            AskError: It is no answer, but names another place.
        """
        headers = response.headers
        if response.is_redirect:
            place = brief(self.secrets.masked(headers.get("location", "")))
            raise AskError(
                f"{self._name} answers with {response.status_code} and names {place}; "
                "not followed: the key is for the host that you named"
            )
        encoding = self.secrets.masked(headers.get("content-encoding", ""))
        decoder = decoder_for(encoding)
        answer = Answer(
            name=request.name,
            body=request.body,
            stream=request.body.get("stream") is True,
            status=response.status_code,
            content_type=self.secrets.masked(headers.get("content-type", "")),
            pending=response.status_code == httpx.codes.ACCEPTED
            and bool(headers.get(PENDING_HEADER)),
            encoding=encoding,
            wants_error=request.wants_error,
            live=True,
        )
        if decoder is None:
            # What cannot be read is not looked at: the key may be in it, too.
            answer.broke = f"the encoding {brief(encoding)} is not undone"
        return answer, decoder

    def _unreachable(self, error: httpx.HTTPError) -> str:
        """Return why nothing came, as a sentence."""
        cause: BaseException | None = error
        while cause is not None:
            if isinstance(cause, ssl.SSLCertVerificationError):
                return (
                    f"{self._name} shows a certificate that is not trusted "
                    f"({brief(cause.verify_message)}); SSL_CERT_FILE names others"
                )
            if isinstance(cause, ssl.SSLError):
                return f"{self._name}: TLS failed ({cause.reason or 'no reason told'})"
            cause = cause.__cause__ or cause.__context__
        why = brief(self.secrets.masked(str(error))) or type(error).__name__
        if isinstance(error, httpx.ProxyError):
            return f"the proxy does not let through to {self._name}: {why}"
        if isinstance(error, httpx.ConnectError):
            return f"{self._name} cannot be reached: {why}"
        return f"{self._name} gave no answer: {why}"


def _why(error: OSError) -> str:
    return brief(error.strerror or str(error))
