"""The card of a provider, and the key that is in no output."""

import base64
import contextlib
import gzip
import html
import json
import os
import subprocess
import sys
import tomllib
import zlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

import support
from each_case import each_case
from llm_normalize.demo import provider as nim
from llm_normalize.doctor import asked_card, card_text
from llm_normalize.doctor import command as doctor
from llm_normalize.doctor import recorded_answers as recorded
from llm_normalize.doctor.answer import Answer, request_body
from llm_normalize.doctor.card import Card, card_of
from llm_normalize.doctor.key_mask import Secrets
from llm_normalize.doctor.known_providers import PROVIDERS as KNOWN
from llm_normalize.doctor.provider import Provider
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
from llm_normalize.routing.hosts import PROVIDERS, Hosts
from llm_normalize.text.loopback import is_loopback
from properties.test_recorded import FOLDER, TWO_ANSWERS
from support import Break, Part, Script, body_script

ROOT = Path(__file__).resolve().parents[2]
CAPTURES = sorted(path.parent for path in ROOT.glob("tests/captures/*/*/about.toml"))
RECORDED = recorded.found(FOLDER) if (FOLDER / "manifest.json").exists() else []
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
    return body_script(json.dumps(nim.body(asked)).encode())


# -- running it ------------------------------------------------------------------------


def child(*given: str, **env: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "llm_normalize", "doctor", *given],
        env={**os.environ, "PYTHONPATH": str(ROOT / "addon"), **env},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


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


def test_conforming_provider_gets_a_card_that_says_so(start: Start) -> None:
    server = start(openai)
    with child(*asking(server), CANARY=KEY) as process:
        out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert "Conforms: 7 answers" in out
    assert f"7 requests to {server.url}/chat/completions" in err
    assert "\x1b" not in out
    assert max(map(len, out.splitlines())) <= 80
    assert server.keys == [f"Bearer {KEY}"] * 7
    assert {each["path"] for each in server.asked} == {"/v1/chat/completions"}
    assert all(each["max_tokens"] <= 100 for each in server.asked)
    assert KEY not in out + err


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


def test_card_of_a_repaired_provider_can_be_read(start: Start, run: Run) -> None:
    reported = run(*asking(start(as_nim)))
    assert "Repaired completely: 6 of 7 answers" in reported.out
    assert "choices[0].delta.role: null → removed" in reported.out
    assert reported.out.rstrip().endswith("Faults that no fix repairs\n  nothing")
    assert max(map(len, reported.out.splitlines())) <= 80


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


def test_usage_that_was_asked_for_and_never_arrived_is_left(
    start: Start, run: Run
) -> None:
    @streaming
    def mute(asked: dict[str, Any]) -> Script:
        asked.pop("stream_options", None)
        return openai(asked)

    reported = run(*asking(start(mute), "--only", "usage", "--json"))
    assert reported.code == 1
    assert reported.left == ["usage: is the last, and usage was asked for"]


def test_body_without_a_choice_is_left(start: Start, run: Run) -> None:
    def hollow(_: dict[str, Any]) -> Script:
        body = {**completion({}), "choices": []}
        return body_script(json.dumps(body).encode())

    reported = run(*asking(start(hollow), "--only", "plain", "--json"))
    assert reported.code == 1
    assert reported.left == ["finish: the body has no choice"]


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


def test_request_that_openai_refuses_is_told_when_it_is_answered(
    start: Start, run: Run
) -> None:
    def lax(asked: dict[str, Any]) -> Script:
        return openai({**asked, "model": MODEL})

    reported = run(*asking(start(lax), "--only", "bad-model", "--json"))
    assert reported.code == 0
    note = "bad-model: answered with 200, where OpenAI refuses the request"
    assert reported.card["notes"] == [note]


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


def test_json_in_place_of_a_stream_becomes_one(start: Start, run: Run) -> None:
    @streaming
    def at_once(asked: dict[str, Any]) -> Script:
        return openai({**asked, "stream": False})

    reported = run(*asking(start(at_once), "--only", "stream", "--json"))
    assert reported.code == 0
    assert "body-in-stream" in {each["name"] for each in reported.card["fixes"]}


def test_answer_that_can_be_fetched_later_is_not_fetched(
    start: Start, run: Run
) -> None:
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


def test_proxy_variables_do_not_lead_what_is_here_elsewhere(
    start: Start, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy, server = start(openai), start(openai)
    monkeypatch.setenv("http_proxy", proxy.url)
    assert run(*asking(server, "--only", "plain")).code == 0
    assert proxy.asked == []


def test_proxy_variables_are_honoured(
    start: Start, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy = start(openai)
    for name in ("no_proxy", "NO_PROXY", "HTTP_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("http_proxy", proxy.url.removesuffix("/v1"))
    url = "http://provider.invalid/v1"
    reported = run(url, "--model", MODEL, "--only", "plain", "--json")
    assert reported.code == 0
    (asked,) = proxy.asked
    assert asked["path"] == f"{url}/chat/completions"


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
        ([KEY], "expected one URL"),
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


def test_key_is_read_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "key").write_text(f"{KEY}\n")
    url = "https://provider.invalid/v1"
    flags = doctor.parse([url, "--model", "m", "--key", f"file:{tmp_path}/key"])
    assert flags.secret == KEY


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


def test_what_speaks_no_tls_is_reported(start: Start, run: Run) -> None:
    url = start(openai).url.replace("http://", "https://")
    reported = run(url, "--model", MODEL, "--json")
    assert reported.code == 3
    assert "TLS failed" in json.loads(reported.out)["error"]


def test_unreadable_certificates_are_reported(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "bad.pem").write_text("none")
    monkeypatch.setenv("SSL_CERT_FILE", f"{tmp_path}/bad.pem")
    reported = run("https://127.0.0.1:9/v1", "--model", MODEL)
    assert reported.code == 3
    assert "no certificates can be read" in reported.err


def test_path_that_is_not_there_is_reported(start: Start, run: Run) -> None:
    def nothing(_: dict[str, Any]) -> Script:
        return body_script(b"404 page not found", 404, "text/plain")

    server = start(nothing)
    reported = run(*asking(server))
    assert reported.code == 3
    assert f"{server.url}/chat/completions is not found (404)" in reported.err


def test_nothing_but_failures_is_no_verdict(start: Start, run: Run) -> None:
    def busy(_: dict[str, Any]) -> Script:
        return body_script(refusal("too many requests", 429), 429)

    reported = run(*asking(start(busy), "--only", "plain,stream", "--json"))
    assert reported.code == 3
    assert reported.verdicts == {"plain": NONE, "stream": NONE}
    note = "plain and 1 more: refused with 429: too many requests"
    assert reported.card["notes"] == [note]


def test_error_in_a_stream_is_no_verdict_on_that_stream(start: Start, run: Run) -> None:
    @streaming
    def fails(_: dict[str, Any]) -> Script:
        data = b'data: {"error":{"message":"overloaded"}}\n\n'
        return event_body(data)

    reported = run(*asking(start(fails), "--only", "plain,stream", "--json"))
    assert reported.code == 0
    assert reported.verdicts == {"plain": CONFORMS, "stream": NONE}
    assert reported.card["notes"] == [
        "stream: an error in place of an answer: overloaded"
    ]


# -- time and size ---------------------------------------------------------------------


def test_provider_that_hangs_is_asked_twice(start: Start, run: Run) -> None:
    def hangs(_: dict[str, Any]) -> Script:
        return Script("", [20.0], framing="raw")

    server = start(hangs)
    reported = run(*asking(server, "--timeout", "1"))
    assert reported.code == 3
    assert "did not answer within 1 s" in reported.err
    assert len(server.asked) == 2


def test_one_request_that_hangs_does_not_hide_the_others(
    start: Start, run: Run
) -> None:
    def hangs(asked: dict[str, Any]) -> Script:
        if "stream_options" in asked:
            return Script("", [20.0], framing="raw")
        return openai(asked)

    server = start(hangs)
    reported = run(*asking(server, "--timeout", "2", "--json"))
    assert reported.code == 1
    assert len(reported.verdicts) == 7
    assert [name for name, word in reported.verdicts.items() if word != CONFORMS] == [
        "usage"
    ]
    (left,) = reported.left
    assert left.endswith(" did not answer within 2 s")


def test_one_request_that_is_hung_up_on_does_not_hide_the_others(
    start: Start, run: Run
) -> None:
    def hangs_up(asked: dict[str, Any]) -> Script:
        if asked.get("stream"):
            return openai(asked)
        return Script("", [Break.CUT], framing="raw")

    reported = run(*asking(start(hangs_up), "--only", "plain,stream"))
    assert reported.code == 1
    assert "gave no answer: Server disconnected" in reported.out


def test_stream_that_drips_is_left_when_its_time_is_up(start: Start, run: Run) -> None:
    @streaming
    def drips(asked: dict[str, Any]) -> Script:
        return paced([events(asked)[0], *[b": wait\n\n"] * 200], 0.05)

    server = start(drips)
    reported = run(*asking(server, "--only", "stream", "--timeout", "1.5", "--json"))
    assert reported.code == 1
    assert reported.left == ["transport: it was not complete within 1.5 s"]


def test_endless_answer_is_read_in_part(start: Start, run: Run) -> None:
    @streaming
    def pours(_: dict[str, Any]) -> Script:
        parts = [wire([chunk({"content": "x " * 30_000}, n=at)]) for at in range(99)]
        return stream(*parts)

    reported = run(*asking(start(pours), "--only", "stream", "--json"))
    assert reported.code == 1
    assert "transport: it is longer than 2 MiB" in reported.left
    assert len(reported.out) < 20_000


def test_connection_that_breaks_is_left_and_nothing_is_made_up(
    start: Start, run: Run
) -> None:
    @streaming
    def breaks(asked: dict[str, Any]) -> Script:
        return stream(*as_nim_blocks(asked)[:3], Break.CUT)

    reported = run(*asking(start(breaks), "--only", "stream", "--json"))
    assert reported.code == 1
    said = "transport: the connection broke off before the end of the answer"
    assert reported.left == [said]
    assert "role-null" in {each["name"] for each in reported.card["fixes"]}


def as_nim_blocks(asked: dict[str, Any]) -> list[bytes]:
    return [f"data: {json.dumps(each)}\n\n".encode() for each in nim.chunks(asked)]


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


def test_web_page_in_place_of_an_answer_is_reported(start: Start, run: Run) -> None:
    def page(_: dict[str, Any]) -> Script:
        data = b"<!DOCTYPE html><title>Welcome</title><script>alert(1)</script>"
        return body_script(data, content_type="text/html")

    reported = run(*asking(start(page)))
    assert reported.code == 1
    assert "that is a web page: is the URL right?" in reported.out


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
        answer = Answer(
            "a", request_body(stream=stream), stream, status=status, data=data
        )
        verdict = judge(answer)
        assert verdict.broken
        text = "\n".join(card_text.as_text(card_of("s", "recorded", [verdict])))
        assert all(line.isprintable() for line in text.split("\n"))


@pytest.mark.parametrize("depth", [900, 3000, 20_000])
def test_any_depth_gets_a_card(depth: int) -> None:
    deep = "[" * depth + "]" * depth
    for text in ("%s", '{"error":%s}', 'data: {"choices":[{"delta":%s,"role":null}]}'):
        data = text.replace("%s", deep).encode()
        for stream, status in ((True, 200), (False, 200), (False, 400)):
            body = request_body(stream=stream)
            answer = Answer("a", body, stream, status=status, data=data, live=True)
            card = card_of("s", "recorded", [judge(answer)])
            assert card.verdict == LEFT or status == 400
            assert len("".join(card_text.as_text(card))) < 10_000


# -- the command line ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([], "expected a URL, a --provider, or files"),
        (["https://h/v1"], "--model is missing"),
        (["--provider", "nobody", "--model", "m"], "--list prints"),
        (["https://h/v1", "https://i/v1", "--model", "m"], "expected one URL"),
        (["https://h/v1", "a.sse", "--model", "m"], "expected one URL"),
        (["ftp://h/v1", "--model", "m"], "the URL must be"),
        (["https:///v1", "--model", "m"], "the URL must be"),
        (["https://h:x/v1", "--model", "m"], "the URL must be"),
        (["https://me:word@h/v1", "--model", "m"], "no name or password"),
        (["a.sse", "--model", "m"], "--key and --model go with"),
        (["a.sse", "--asked", "luck"], "--asked takes names"),
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


def test_http_is_for_this_machine_or_said_to_be_meant(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CANARY", KEY)
    more = ["--model", "m", "--key", "env:CANARY"]
    here = ("localhost", "a.localhost", "127.1", "[::1]")
    for given in (
        *([f"http://{each}/v1"] for each in here),
        ["http://h/v1", "--insecure-http"],
    ):
        assert doctor.parse([*given, *more]).secret == KEY
    assert doctor.parse(["http://h/v1", "--model", "m"]).secret == ""


def test_provider_brings_its_url_and_its_usual_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("NVIDIA_API_KEY", KEY)
    flags = doctor.parse(["--provider", "nvidia", "--model", "m"])
    assert flags.url == "https://integrate.api.nvidia.com/v1/chat/completions"
    assert flags.secret == KEY
    monkeypatch.delenv("NVIDIA_API_KEY")
    assert doctor.parse(["--provider", "nvidia", "--model", "m"]).secret == ""


def test_known_providers_are_those_of_the_addon() -> None:
    hosts = Hosts.parse(PROVIDERS)
    for name, (url, _) in KNOWN.items():
        host = Provider(url, "", 1).host
        here = is_loopback(host.partition(":")[0])
        assert here or name == "openai" or hosts.include(host, 443), name


def test_list_names_the_known_providers(run: Run) -> None:
    reported = run("--list")
    assert reported.code == 0
    assert "NVIDIA_API_KEY" in reported.out


def test_help_names_the_command_as_it_is_started(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as ended:
        doctor.main(["--help"])
    assert ended.value.code == 0
    assert "usage: llm-normalize doctor (URL" in capsys.readouterr().out


# -- recorded answers ------------------------------------------------------------------


def rows(card: dict[str, Any]) -> dict[str, str]:
    return {row["name"]: row["verdict"] for row in card["rows"]}


@each_case(CAPTURES, ids=lambda path: "/".join(path.parts[-2:]))
def test_capture_gets_the_card_that_it_tells_of(path: Path) -> None:
    (answer,) = recorded.answers([path], ())
    verdict = judge(answer)
    card = card_of("captures", "recorded", [verdict])
    fixes = set(tomllib.loads((path / "about.toml").read_text("utf-8"))["fixes"])
    assert {each.name for each in card.fixes} == fixes
    assert card.verdict == (REPAIRED if fixes else CONFORMS)
    assert card.left == []
    assert all(each.shown or each.name == "finish-early" for each in card.fixes)


def test_all_captures_are_one_card(run: Run) -> None:
    reported = run(str(ROOT / "tests" / "captures"), "--json")
    assert reported.code == 0
    assert len(reported.card["rows"]) == len(CAPTURES)
    text = run(str(ROOT / "tests" / "captures")).out
    assert f"and {len(CAPTURES) - 40} more (--json has all)" in text
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: "/".join(path.parts[-2:]))
def test_recorded_answer_gets_a_card(path: Path) -> None:
    (answer,) = recorded.answers([path], ())
    verdict = judge(answer)
    assert (verdict.word == LEFT) is (answer.name == TWO_ANSWERS)
    if answer.name.startswith("openai/"):
        assert verdict.word == CONFORMS
    assert list(card_text.as_text(card_of("s", "recorded", [verdict])))


def test_file_of_a_capture_is_that_capture(run: Run) -> None:
    reported = run(
        str(CAPTURES[0] / next(CAPTURES[0].glob("response.*")).name), "--json"
    )
    assert [*rows(reported.card)] == ["/".join(CAPTURES[0].parts[-2:])]
    assert reported.card["notes"] == []


def test_single_file_is_taken_for_what_its_name_says(tmp_path: Path, run: Run) -> None:
    asked = request_body(stream=True, usage=True)
    (tmp_path / "a.sse").write_bytes(b"".join(events(asked)))
    (tmp_path / "b.json").write_bytes(refusal("no"))
    reported = run(str(tmp_path), "--json")
    assert rows(reported.card) == {"a.sse": REPAIRED, "b.json": CONFORMS}
    assert "assumed: a stream was asked for, with no usage" in reported.card["notes"][0]
    reported = run(f"{tmp_path}/a.sse", "--asked", "usage,tools", "--json")
    assert rows(reported.card) == {"a.sse": CONFORMS}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("nothing.sse", None),
        ("nothing.jsonl", None),
        ("about.toml", "asked = ["),
        ("about.toml", "asked = 1"),
        ("about.toml", "status = 'x'"),
        ("about.toml", ""),
        ("manifest.json", "[1]"),
    ],
)
def test_what_cannot_be_read_is_reported(
    tmp_path: Path, run: Run, name: str, text: str | None
) -> None:
    place = tmp_path / "\x1b[31m"
    place.mkdir()
    given = place / name
    if text is not None:
        given.write_text(text)
        given = place
    if name == "manifest.json":
        (place / "a.sse").write_bytes(DONE)
    elif text:
        (place / "response.sse").write_bytes(DONE)
    reported = run(str(given))
    assert reported.code == 2
    assert reported.err.startswith("llm-normalize doctor: ")
    assert "\x1b" not in reported.err


# -- before/after logs -----------------------------------------------------------------


def pair(flow: str, before: str | None, *after: str, n: int = 1) -> dict[str, Any]:
    fixes = ["role-null"]
    body = {"n": n, "ms": 1.0, "fixes": fixes, "before": before, "after": [*after]}
    return {"type": "pair", "v": 1, "flow": flow, **body}


def flow(name: str, host: str = "api.x", **more: Any) -> dict[str, Any]:
    reported = {
        "host": host,
        "model": "m",
        "events": 5,
        "changed": 1,
        "end": "complete",
    }
    return {"type": "flow", "v": 1, "flow": name, **reported, **more}


def write(path: Path, *records: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(each) + "\n" for each in records))
    return path


NULL = wire([chunk({"role": None, "content": "a"})]).decode()
GOOD = wire([chunk({"content": "a"})]).decode()


def test_log_gives_a_card_for_each_host_and_model(tmp_path: Path, run: Run) -> None:
    log = write(
        tmp_path / "pairs.jsonl",
        pair("f1", NULL, GOOD),
        pair("f2", NULL, GOOD),
        flow("f2", "api.y", end="upstream-broke"),
        flow("f1"),
        pair("f3", NULL, GOOD),
        flow("f3", mode="observe"),
        flow("f4", "api.z", changed=0),
    )
    (tmp_path / "pairs.jsonl.1.gz").write_bytes(
        gzip.compress(
            write(tmp_path / "x", pair("f0", NULL, GOOD), flow("f0")).read_bytes()
        )
    )
    reported = run(str(log), "--json")
    assert reported.code == 0
    cards = {each["subject"]: each for each in json.loads(reported.out)["cards"]}
    x, y, z = (cards[f"api.{name}, model m"] for name in "xyz")
    (fix,) = x["fixes"]
    assert (fix["name"], fix["count"]) == ("role-null", 3)
    assert fix["first"] == "answer f0, event 1"
    assert fix["shown"][0]["place"] == "choices[0].delta.role"
    assert "1 answers were observed, not repaired" in x["notes"]
    assert "1 answers broke off" in y["notes"]
    assert (x["verdict"], z["verdict"]) == (REPAIRED, NONE)
    assert all(
        "a log has only changed events" in each["notes"][-1] for each in (x, y, z)
    )


def test_card_shows_refusals_whose_words_are_not_known(
    tmp_path: Path, run: Run
) -> None:
    kind = {"type": "refusal", "v": 1, "host": "api.x", "model": "m", "status": 400}
    refusals = [{**kind, "words": f"Refusal {n % 25}"} for n in range(50)]
    log = write(tmp_path / "pairs.jsonl", *refusals, flow("f"))
    reported = run(str(log), "--json")
    (card,) = json.loads(reported.out)["cards"]
    notes = [each for each in card["notes"] if "Refusal" in each]
    assert len(notes) == 20
    assert notes[0].startswith("refused with 400: Refusal 0, 2 times: ")
    assert "please report" in notes[0]


def test_changed_event_that_still_breaks_a_rule_is_left(
    tmp_path: Path, run: Run
) -> None:
    body = json.dumps(completion({"role": "assistant", "content": None}))
    error = '{"error":{"message":""}}'
    log = write(
        tmp_path / "pairs.jsonl",
        pair("f1", NULL, NULL),
        pair("f1", None, "data: {\n\n"),
        pair("f1", body, body, n=0),
        pair("f1", error, error, n=0),
        flow("f1"),
    )
    reported = run(str(log), "--json")
    assert reported.code == 1
    assert reported.left == [
        "content: has a null role in choice 0",
        "framing: carries no JSON",
        "content: choice 0 has null content",
        "error: the body has an error without a message",
        "error: the body has an error without the key type",
        "error: the body has an error without the key param",
        "error: the body has an error without the key code",
    ]


def test_event_that_needs_its_neighbours_is_not_judged_alone(
    tmp_path: Path, run: Run
) -> None:
    calls = [calling(rest(1)), chunk({}, finish="stop"), chunk(None, usage=USAGE)]
    records = [pair("f", NULL, wire([each]).decode()) for each in calls]
    reported = run(str(write(tmp_path / "p.jsonl", *records, flow("f"))), "--json")
    assert reported.code == 0
    assert reported.left == []


def test_odd_logs_are_read_as_far_as_they_go(tmp_path: Path, run: Run) -> None:
    log = write(
        tmp_path / "pairs.jsonl",
        {"type": "pair", "flow": "f", "after": 1, "fixes": []},
        {"type": "pair", "flow": "\x1b[2J", "after": ["\ud800"], "fixes": ["\x1b", 1]},
        {"type": "flow", "host": "\x1b[31m", "model": 1},
        {"type": "lost", "count": 3},
    )
    log.write_text(log.read_text() + "junk\n{")
    reported = run(str(log))
    assert reported.code == 1  # what is no event was sent
    assert "\x1b" not in reported.out
    assert "answers without a record, model -" in reported.out
    assert "3 lines were lost when the log was written" in reported.out
    empty = run(str(write(tmp_path / "empty.jsonl")))
    assert empty.code == 0
    assert "The logs hold nothing." in empty.out


# -- what is printed -------------------------------------------------------------------


def test_colours_are_for_terminals(monkeypatch: pytest.MonkeyPatch) -> None:
    card = Card("s", "logged", headline="All is well.")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b[1ms\x1b[0m" in list(card_text.as_text(card))
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in "".join(card_text.as_text(card))


@pytest.mark.parametrize("given", [str(ROOT / "tests" / "captures"), "--list"])
def test_reader_that_leaves_is_no_fault(given: str) -> None:
    with child(given) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait() == 0
