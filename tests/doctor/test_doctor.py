"""The card of a provider, and the key that is in no output."""

import base64
import contextlib
import gzip
import html
import json
import zlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

import support
from llm_normalize.demo import provider as nim
from llm_normalize.doctor import asked_card, card_text
from llm_normalize.doctor import command as doctor
from llm_normalize.doctor.asked_provider import Provider, Secrets
from llm_normalize.doctor.card import card_of
from llm_normalize.doctor.probes import Answer
from llm_normalize.doctor.verdict import CONFORMS, LEFT, NONE, REPAIRED, judge
from llm_normalize.repair.fix import (
    DONE,
    USAGE,
    calling,
    chunk,
    completion,
    head,
    rest,
    wire,
)
from llm_normalize.routing.hosts import Hosts
from llm_normalize.routing.known_providers import HOSTS
from llm_normalize.routing.known_providers import PROVIDERS as KNOWN
from llm_normalize.text.network_address import is_loopback
from support import Break, Part, Script, body_script

ROOT = Path(__file__).resolve().parents[2]
KEY = "sk-canary/7f3a+9Q=="
MODEL = "acme-1"

type Act = Callable[[dict[str, Any]], Script]


# -- providers -------------------------------------------------------------------------


class Server(support.Provider):
    def __init__(self, act: Act) -> None:
        super().__init__(answer=lambda request: act(json.loads(request.body)))
        self.url += "/v1"

    @property
    def asked(self) -> list[dict[str, Any]]:
        return [{**json.loads(each.body), "path": each.path} for each in self.requests]

    @property
    def keys(self) -> list[str | None]:
        return [each.headers.get("authorization") for each in self.requests]


type Start = Callable[[Act], Server]


@pytest.fixture
def start() -> Iterator[Start]:
    with contextlib.ExitStack() as stack:
        yield lambda act: stack.enter_context(Server(act))


def stream(*parts: Part) -> Script:
    return Script("", parts)


def event_body(*events: bytes) -> Script:
    return body_script(b"".join(events), content_type="text/event-stream")


def refusal(words: str, status: int = 400) -> bytes:
    kind = "invalid_request_error"
    error = {"message": words, "type": kind, "param": None, "code": str(status)}
    return json.dumps({"error": error}).encode()


def events(asked: dict[str, Any]) -> list[bytes]:
    """Return the events with which OpenAI would answer."""
    chunks = [chunk({"role": "assistant", "content": ""})]
    reason = "stop"
    if "tools" in asked:
        chunks = [chunk({"role": "assistant", "content": None})]
        function = {"name": "get_weather", "arguments": ""}
        chunks += [calling({**head(), "function": function}), calling(rest())]
        reason = "stop" if "tool_choice" in asked else "tool_calls"
    else:
        chunks += [chunk({"content": word}) for word in ("One,", " two,", " three.")]
    chunks.append(chunk({}, finish=reason))
    if "stream_options" in asked:
        chunks.append(chunk(None, usage=USAGE))
    return [*(wire([each]) for each in chunks), DONE]


def openai(asked: dict[str, Any]) -> Script:
    if asked["model"] != MODEL:
        return body_script(refusal("no such model", 404), 404)
    if asked.get("temperature") == "hot":
        return body_script(refusal("a number is wanted"), 400)
    if not asked.get("stream"):
        body = completion({"role": "assistant", "content": "One."})
        return body_script(json.dumps(body).encode())
    return paced(events(asked), 0.02)


def paced(events: list[bytes], seconds: float) -> Script:
    return stream(*(part for each in events for part in (each, seconds)))


def streaming(act: Act) -> Act:
    """Return a provider that answers streams by *act*, and all else as OpenAI does."""

    def answer(asked: dict[str, Any]) -> Script:
        is_stream = asked.get("stream") and "temperature" not in asked
        return act(asked) if is_stream else openai(asked)

    return answer


def as_nim(asked: dict[str, Any]) -> Script:
    if asked["model"] != MODEL:
        problem = {"status": 404, "title": "Not Found", "detail": "Function not found"}
        return body_script(json.dumps(problem).encode(), 404)
    if asked.get("temperature") == "hot":
        return body_script(b'{"detail":"a number is wanted"}', 422)
    if asked.get("stream"):
        values = map(json.dumps, nim.chunks(asked))
        blocks = [f"data: {each}\n\n".encode() for each in values]
        return event_body(*blocks, DONE)
    message = {"role": "assistant", "content": "".join(nim.WORDS)}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
    body = {
        **next(nim.chunks(asked)),
        "object": "chat.completion",
        "choices": [{**choice, "stop_reason": None}],
        "usage": {"prompt_tokens": 21, "total_tokens": 28, "completion_tokens": 7},
        "prompt_logprobs": None,
    }
    return body_script(json.dumps(body).encode())


# -- running it ------------------------------------------------------------------------


class Told:
    """What a run printed, and its exit code."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    @property
    def card(self) -> dict[str, Any]:
        (card,) = json.loads(self.out)["cards"]
        return dict(card)

    @property
    def verdicts(self) -> dict[str, str]:
        return {row["name"]: row["verdict"] for row in self.card["rows"]}

    @property
    def left(self) -> list[str]:
        return [f"{each['rule']}: {each['text']}" for each in self.card["left"]]


type Run = Callable[..., Told]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("CANARY", KEY)

    def ran(*given: str) -> Told:
        code = doctor.main(given)
        return Told(code, *capsys.readouterr())

    return ran


def asking(server: Server, *more: str) -> list[str]:
    return [server.url, "--model", MODEL, "--key", "env:CANARY", *more]


def spelled(key: str) -> list[str]:
    return [
        key,
        key.replace("/", "\\/"),
        "".join(f"\\u{ord(char):04X}" for char in key),
        "".join(f"&#{ord(char)};" for char in key),
        quote(key, safe=""),
        base64.b64encode(key.encode()).decode(),
    ]


def keeps_quiet(reported: Told) -> bool:
    return not any(
        each in reported.out + reported.err for each in [*spelled(KEY), "canary"]
    )


# -- providers of every kind -----------------------------------------------------------


def test_conforming_provider_gets_a_card_that_says_so(start: Start, run: Run) -> None:
    server = start(openai)
    reported = run(*asking(server))
    assert reported.code == 0, reported.err
    assert "Conforms: 7 answers" in reported.out
    assert f"7 requests to {server.url}/chat/completions" in reported.err
    assert "\x1b" not in reported.out
    assert max(map(len, reported.out.splitlines())) <= 80
    assert server.keys == [f"Bearer {KEY}"] * 7
    assert {each["path"] for each in server.asked} == {"/v1/chat/completions"}
    assert all(each["max_tokens"] <= 100 for each in server.asked)
    assert keeps_quiet(reported)


def test_nim_like_provider_is_repaired_completely(start: Start, run: Run) -> None:
    reported = run(*asking(start(as_nim), "--json"))
    assert reported.code == 0
    assert reported.card["verdict"] == REPAIRED
    assert reported.left == []
    assert reported.verdicts["stream"] == reported.verdicts["bad-model"] == REPAIRED
    fixes = {each["name"]: each for each in reported.card["fixes"]}
    assert {"role-null", "content-null", "tool-call-whole", "error-unwrapped"} <= {
        *fixes
    }
    null = fixes["role-null"]
    assert null["first"] == "stream, event 1"
    assert null["shown"] == [
        {"place": "choices[0].delta.role", "old": "null", "new": None}
    ]
    assert "Strict clients" in null["why"]
    rules = {each["rule"] for each in reported.card["broken"]}
    assert {"content", "finish", "usage", "tool-calls", "error"} <= rules


def test_what_no_fix_repairs_is_left(start: Start, run: Run) -> None:
    @streaming
    def endless(asked: dict[str, Any]) -> Script:
        return event_body(*events(asked)[:-2])

    reported = run(*asking(start(endless), "--only", "plain,stream", "--json"))
    assert reported.code == 1
    assert reported.verdicts == {"plain": CONFORMS, "stream": LEFT}
    assert "finish: is the last, and choice 0 is open" in reported.left
    assert not any("made up" in each for each in reported.left)


def test_tools_that_are_refused_are_left(start: Start, run: Run) -> None:
    @streaming
    def toolless(asked: dict[str, Any]) -> Script:
        if "tools" in asked:
            return body_script(refusal("tools are not supported"), 400)
        return openai(asked)

    reported = run(*asking(start(toolless), "--only", "stream,tools", "--json"))
    assert reported.code == 1
    assert reported.left == ["request: refused with 400: tools are not supported"]


def test_model_that_calls_no_tool_is_reported(start: Start, run: Run) -> None:
    @streaming
    def talks(asked: dict[str, Any]) -> Script:
        asked.pop("tools", None)
        return openai(asked)

    reported = run(*asking(start(talks), "--only", "tools", "--json"))
    assert reported.code == 0
    assert reported.card["notes"] == [
        "tools: no tool was called: that form was not seen"
    ]


def test_wrong_content_type_is_a_fault_that_is_repaired(start: Start, run: Run) -> None:
    @streaming
    def named(asked: dict[str, Any]) -> Script:
        return body_script(b"".join(events(asked)), content_type="text/plain")

    reported = run(*asking(start(named), "--only", "stream", "--json"))
    assert reported.code == 0
    (fix,) = reported.card["fixes"]
    assert fix["name"] == "content-type-wrong"
    assert fix["shown"] == [
        {"place": "content-type", "old": "text/plain", "new": "text/event-stream"}
    ]
    (broken,) = reported.card["broken"]
    assert broken["text"] == "the content type is text/plain, not text/event-stream"


def test_answer_to_be_fetched_later_is_not_fetched(start: Start, run: Run) -> None:
    def pending(_: dict[str, Any]) -> Script:
        return body_script(b"{}", 202, nvcf_reqid="1")

    server = start(pending)
    reported = run(*asking(server, "--only", "stream", "--json"))
    assert reported.code == 0
    assert [each["name"] for each in reported.card["fixes"]] == ["answer-pending"]
    assert len(server.asked) == 1


def test_newer_name_of_the_limit_is_tried(start: Start, run: Run) -> None:
    def newer(asked: dict[str, Any]) -> Script:
        if "max_tokens" in asked:
            return body_script(refusal("use 'max_completion_tokens' instead"), 400)
        return openai(asked)

    server = start(newer)
    reported = run(*asking(server, "--only", "plain,stream", "--json"))
    assert reported.code == 0
    assert reported.verdicts == {"plain": CONFORMS, "stream": CONFORMS}
    assert len(server.asked) == 3
    assert "max_completion_tokens" in server.asked[-1]


# -- the key ---------------------------------------------------------------------------


@pytest.mark.parametrize("form", [[], ["--json"]])
@pytest.mark.parametrize("key", spelled(KEY))
def test_refused_key_is_reported_and_not_shown(
    start: Start, run: Run, form: list[str], key: str
) -> None:
    def refused(_: dict[str, Any]) -> Script:
        words = f"Incorrect API key provided: {key}"
        body = refusal("WORDS").replace(b"WORDS", words.encode())
        return body_script(body, 401, x_key=KEY)

    server = start(refused)
    reported = run(*asking(server, *form))
    assert reported.code == 3
    assert "refuses the key, with status 401" in reported.out + reported.err
    assert "Incorrect API key provided: ***" in reported.out + reported.err
    assert keeps_quiet(reported)
    assert len(server.asked) == 1


def test_missing_key_is_asked_for(start: Start, run: Run) -> None:
    def refused(_: dict[str, Any]) -> Script:
        return body_script(refusal("no key"), 401)

    reported = run(start(refused).url, "--model", MODEL)
    assert reported.code == 3
    assert "wants a key (--key), with status 401. It says: no key" in reported.err


@pytest.mark.parametrize("form", [[], ["--json"]])
@pytest.mark.parametrize("key", spelled(KEY))
def test_key_that_is_echoed_anywhere_is_not_shown(
    start: Start, run: Run, form: list[str], key: str
) -> None:
    def echoes(asked: dict[str, Any]) -> Script:
        if asked.get("stream"):
            parts = [chunk({"role": None, "content": "KEY", "KEY": None})]
            data = wire([*parts, b": KEY\n\n", b"KEY\n\n", b"data: {KEY\n\n"])
            kind = f"text/KEY-{key}; KEY={KEY}"
        else:
            body = completion({"role": "assistant", "content": None, "KEY": None})
            data = json.dumps({**body, "id": "KEY"}).encode()
            kind = "application/json"
        data = data.replace(b"KEY", key.encode())
        return body_script(data, content_type=kind.replace("KEY", KEY))

    reported = run(*asking(start(echoes), *form))
    assert reported.code == 1
    assert "***" in reported.out
    assert keeps_quiet(reported)


def test_key_that_is_cut_by_two_reads_is_not_shown(start: Start, run: Run) -> None:
    @streaming
    def cuts(_: dict[str, Any]) -> Script:
        parts = f"data: {{{KEY[:8]}".encode(), f"{KEY[8:]}\n\n".encode()
        return paced([*parts], 0.05)

    reported = run(*asking(start(cuts), "--only", "stream"))
    assert reported.code == 1
    assert keeps_quiet(reported)


def test_key_is_not_in_a_traceback(
    start: Start, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise RuntimeError(f"with {KEY}\x1b[31m")

    monkeypatch.setattr(asked_card, "card_of", fails)
    reported = run(*asking(start(openai), "--only", "plain"))
    assert reported.code == 3
    assert "RuntimeError: with ***" in reported.err
    assert "\x1b" not in reported.err
    assert keeps_quiet(reported)


def test_key_in_what_is_no_http_is_not_shown(start: Start, run: Run) -> None:
    def garbles(_: dict[str, Any]) -> Script:
        garbage = f"HTTP/9 {KEY} {KEY}\r\n\r\n".encode()
        return Script("", [garbage, Break.CUT], framing="raw")

    reported = run(*asking(start(garbles)))
    assert reported.code == 3
    assert "gave no answer" in reported.err
    assert keeps_quiet(reported)


def test_redirect_is_not_followed(start: Start, run: Run) -> None:
    other = start(openai)

    def elsewhere(_: dict[str, Any]) -> Script:
        place = f"{other.url}/\u202echat?key={KEY}"
        return body_script(b"", 307, location=place)

    server = start(elsewhere)
    reported = run(*asking(server))
    assert reported.code == 3
    assert "answers with 307 and names " in reported.err
    assert f"127.0.0.1:{other.port}" in reported.err
    assert other.asked == []
    assert len(server.asked) == 1
    assert keeps_quiet(reported)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["--key", KEY], "--key takes env:NAME or file:PATH"),
        ([f"--key={KEY}"], "--key takes env:NAME or file:PATH"),
        (["--key", f"env:{KEY}"], "the environment variable that --key names"),
        (["--key", f"file:/{KEY}"], "the file that --key names cannot be read"),
        (["--timeout", KEY], "--timeout takes a number"),
        (["--token", KEY], "unknown option: --token"),
        ([f"--api-key={KEY}"], "unknown option: --api-key"),
        ([KEY], "a provider is named by its URL"),
    ],
)
def test_key_on_the_command_line_is_refused_and_not_quoted(
    given: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        doctor.parse(["https://provider.invalid/v1", "--model", "m", *given])
    reported = Told(2, *capsys.readouterr())
    assert ended.value.code == 2
    assert words in reported.err
    assert keeps_quiet(reported)


def test_every_spelling_of_a_key_is_masked() -> None:
    secrets = Secrets(
        "https://x/v1?api-key=query-canary", {"authorization": f"Bearer {KEY}"}
    )
    text = " ".join([*spelled(KEY), KEY.encode().hex(), KEY.upper(), "query-canary"])
    shown = secrets.masked(text)
    # What is left of its letters and digits is nothing; marks at its end may be.
    assert {html.unescape(each).strip("=") for each in shown.split()} == {"***"}
    late = b"x" * 100_000 + b" "
    assert secrets.masked_bytes(late + text.encode()) == late + shown.encode()


# -- what cannot be asked --------------------------------------------------------------


def test_nothing_listens_there(run: Run) -> None:
    server = Server(openai)
    server.close()
    reported = run(server.url, "--model", MODEL)
    assert reported.code == 3
    assert "127.0.0.1" in reported.err
    assert "cannot be reached" in reported.err


def test_unreadable_certificates_are_reported(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "bad.pem").write_text("none")
    monkeypatch.setenv("SSL_CERT_FILE", f"{tmp_path}/bad.pem")
    reported = run("https://127.0.0.1:9/v1", "--model", MODEL)
    assert reported.code == 3
    assert "no certificates can be read" in reported.err


def test_nothing_but_failures_is_no_verdict(start: Start, run: Run) -> None:
    def busy(_: dict[str, Any]) -> Script:
        return body_script(refusal("too many requests", 429), 429)

    reported = run(*asking(start(busy), "--only", "plain,stream", "--json"))
    assert reported.code == 3
    assert reported.verdicts == {"plain": NONE, "stream": NONE}
    note = "plain and 1 more: refused with 429: too many requests"
    assert reported.card["notes"] == [note]


# -- time and size ---------------------------------------------------------------------


def test_provider_that_hangs_is_asked_twice(start: Start, run: Run) -> None:
    def hangs(_: dict[str, Any]) -> Script:
        return Script("", [20.0], framing="raw")

    server = start(hangs)
    reported = run(*asking(server, "--timeout", "1"))
    assert reported.code == 3
    assert "did not answer within 1 s" in reported.err
    assert len(server.asked) == 2


def test_endless_answer_is_read_in_part(start: Start, run: Run) -> None:
    @streaming
    def pours(_: dict[str, Any]) -> Script:
        parts = [wire([chunk({"content": "x " * 30_000}, n=at)]) for at in range(99)]
        return stream(*parts)

    reported = run(*asking(start(pours), "--only", "stream", "--json"))
    assert reported.code == 1
    assert "transport: it is longer than 2 MiB" in reported.left
    assert len(reported.out) < 20_000


def test_buffering_is_distinguished_from_streaming(start: Start, run: Run) -> None:
    @streaming
    def buffers(asked: dict[str, Any]) -> Script:
        made = event_body(*events(asked))
        return replace(made, parts=[0.2, *made.parts])

    @streaming
    def paces(asked: dict[str, Any]) -> Script:
        return paced(events(asked), 0.1)

    for act, arrival in ((buffers, "at once"), (paces, "spread")):
        reported = run(*asking(start(act), "--only", "plain,stream", "--json"))
        assert [row["arrival"] for row in reported.card["rows"]] == ["", arrival]
        plain, stream = reported.card["rows"]
        assert plain["events"] is None
        assert stream["events"] == 6
        assert 0 < stream["first_ms"] <= stream["total_ms"]


# -- bytes of every kind ---------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_compressed_answers_are_read(start: Start, run: Run, encoding: str) -> None:
    press = gzip.compress if encoding == "gzip" else zlib.compress

    def compresses(asked: dict[str, Any]) -> Script:
        data, kind = b"".join(events(asked)), "text/event-stream"
        if not asked.get("stream"):
            body = completion({"role": "assistant", "content": "One."})
            data, kind = json.dumps(body).encode(), "application/json"
        return body_script(press(data), 200, kind, content_encoding=encoding)

    reported = run(*asking(start(compresses), "--only", "plain,stream", "--json"))
    assert reported.code == 0
    assert reported.card["verdict"] == CONFORMS
    assert [row["encoding"] for row in reported.card["rows"]] == [encoding] * 2


@pytest.mark.parametrize(
    ("encoding", "words"),
    [
        ("gzip", "the compressed body is corrupt"),
        ("compress", "the encoding compress is not supported"),
    ],
)
def test_what_cannot_be_decoded_is_left(
    start: Start, run: Run, encoding: str, words: str
) -> None:
    @streaming
    def corrupt(asked: dict[str, Any]) -> Script:
        data = bytearray(gzip.compress(b"".join(events(asked))))
        data[40:50] = bytes(10)
        return body_script(
            bytes(data), 200, "text/event-stream", content_encoding=encoding
        )

    reported = run(*asking(start(corrupt), "--only", "stream", "--json"))
    assert reported.code == 1
    assert words in reported.left[-1]


HOSTILE = "<script>\x1b[31m\u202e\x00\x85\ud800" + "A!" * 50_000


def test_hostile_words_are_shown_escaped_and_cut(start: Start, run: Run) -> None:
    def hostile(asked: dict[str, Any]) -> Script:
        if asked["model"] != MODEL:
            error = {"error": {"message": HOSTILE, "input": 1}}
            return body_script(json.dumps(error).encode(), 400)
        if asked.get("stream"):
            delta = {"role": None, HOSTILE: None, "content": HOSTILE}
            data = json.dumps({"choices": [{"delta": delta}]})
            lines = [f"data: {data}", HOSTILE[:6], ": \x1b[2J"]
            return event_body("\n\n".join(lines).encode())
        body = {"choices": [], "id": HOSTILE, "object": HOSTILE}
        return body_script(json.dumps(body).encode())

    server = start(hostile)
    reported = run(*asking(server))
    assert reported.code == 1
    assert "<script>\\u001b[31m\\u202e\\u0000\\x85\\ud800A" in reported.out
    assert all(each.isprintable() for each in reported.out.split("\n"))
    assert len(reported.out) < 40_000
    as_json = run(*asking(server, "--json"))
    assert as_json.out.isascii()
    assert len(as_json.out) < 80_000


@pytest.mark.parametrize("seed", range(20))
def test_any_bytes_get_a_card(seed: int) -> None:
    noise = zlib.compress(str(seed).encode() * 50)
    for stream, status in ((True, 200), (False, 200), (False, 400), (True, 500)):
        data = b"data: " + noise + b"\n\ndata: {\n\n" + noise
        answer = Answer("a", {"stream": stream}, status=status, data=data)
        verdict = judge(answer)
        assert verdict.broken
        text = "\n".join(card_text.as_text(card_of("s", [verdict])))
        assert all(line.isprintable() for line in text.split("\n"))


# -- the command line ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([], "expected one URL, or one --provider"),
        (["https://h/v1"], "--model is missing"),
        (["--provider", "nobody", "--model", "m"], "--list prints"),
        (["https://h/v1", "https://i/v1", "--model", "m"], "expected one URL"),
        (["https://h/v1", "a.sse", "--model", "m"], "named by its URL"),
        (["pairs.jsonl", "--json"], "llm-normalize report sums up before/after logs"),
        (["ftp://h/v1", "--model", "m"], "the URL must be"),
        (["https:///v1", "--model", "m"], "the URL must be"),
        (["https://h:x/v1", "--model", "m"], "the URL must be"),
        (["https://me:word@h/v1", "--model", "m"], "no name or password"),
        (["https://h/v1", "--model", "m", "--only", "all"], "--only takes names"),
        (["https://h/v1", "--model", "m", "--only", ""], "--only takes names"),
        (["https://h/v1", "--model", "m", "--timeout", "0"], "--timeout takes"),
        (["https://h/v1", "--model", "m", "--timeout", "nan"], "--timeout takes"),
        (["http://h/v1", "--model", "m", "--key", "env:CANARY"], "--insecure-http"),
        (["https://h/v1", "--model", "m", "--key", "env:BLANK"], "not set"),
        (["https://h/v1", "--model", "m", "--key", "env:TWO"], "that no key has"),
    ],
)
def test_bad_command_line_is_refused(
    given: list[str],
    words: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("CANARY", KEY)
    monkeypatch.setenv("BLANK", " ")
    monkeypatch.setenv("TWO", "two words")
    with pytest.raises(SystemExit) as ended:
        doctor.parse(given)
    assert ended.value.code == 2
    reported = capsys.readouterr().err
    assert words in reported
    assert "word@" not in reported
    assert "two words" not in reported


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ("https://h/v1", "https://h/v1/chat/completions"),
        ("https://h/v1/", "https://h/v1/chat/completions"),
        ("HTTPS://h/v1/chat/completions", "https://h/v1/chat/completions"),
        ("https://h/v1?api-version=1#a", "https://h/v1/chat/completions?api-version=1"),
        ("http://[::1]:8000/v1", "http://[::1]:8000/v1/chat/completions"),
    ],
)
def test_url_leads_to_chat_completions(given: str, url: str) -> None:
    assert doctor.parse([given, "--model", "m"]).url == url


def test_http_is_for_this_machine_or_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANARY", KEY)
    more = ["--model", "m", "--key", "env:CANARY"]
    here = ("localhost", "a.localhost", "127.1", "[::1]")
    for given in (
        *([f"http://{each}/v1"] for each in here),
        ["http://h/v1", "--insecure-http"],
    ):
        assert doctor.parse([*given, *more]).secret == KEY
    assert doctor.parse(["http://h/v1", "--model", "m"]).secret == ""


def test_provider_brings_its_url_and_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NVIDIA_API_KEY", KEY)
    flags = doctor.parse(["--provider", "nvidia", "--model", "m"])
    assert flags.url == "https://integrate.api.nvidia.com/v1/chat/completions"
    assert flags.secret == KEY
    monkeypatch.delenv("NVIDIA_API_KEY")
    assert doctor.parse(["--provider", "nvidia", "--model", "m"]).secret == ""


def test_known_providers_are_those_of_the_addon() -> None:
    hosts = Hosts.parse(HOSTS)
    for name, (url, _) in KNOWN.items():
        host = Provider(url, "", 1).host
        here = is_loopback(host.partition(":")[0])
        assert here or name == "openai" or hosts.include(host, 443), name
