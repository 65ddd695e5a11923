"""The streams of the benchmark: what a provider sends, and what has to arrive.

Made streams have words of our own; recorded ones replay a provider's answer. Each
stream has its own id, time, figures and texts, drawn with its seed: provider and client
make the same bytes of the same `Plan`.
"""

import functools
import json
import random
import re
from typing import Any, Literal, NamedTuple

from llm_normalize.chat.state.asked import Asked
from llm_normalize.fixes import FIXES
from llm_normalize.repair.engine.pipeline import Pipeline
from workshop import RECORDED, ROOT
from workshop.traffic.words import WORDS

PATH = "/v1/chat/completions"
HEADER = "x-bench"
"""The request header with the plan."""

type Form = Literal["sent", "repaired", "text"]
"""What has to arrive: the bytes as they were sent, the bytes that the addon makes of
them in one process, or the same text (of lean.py, which repairs less)."""

GOOD, NIM = "good", "nim"
"""The made streams: OpenAI's own form as vLLM spells it, and NVIDIA NIM's."""
FRAME = 4  # events without a text: opening, finish, usage and [DONE]
DONE = b"data: [DONE]\n\n"
STORED = 256  # streams of one load, and more

CAPTURES = ROOT / "tests" / "captures"
RECORDINGS = {
    "NIM": ("nvidia-nim/usage-asked", "nvidia-nim/mixtral-8x22b-instruct-v0.1-streaming-1.sse"),
    "DeepSeek": ("deepseek/tool-call", "deepseek/deepseek-chat-streaming-with-api-usage-capture.sse"),
    "Groq": ("groq/tool-call", "groq/gpt-oss-120b-tool-use-failed-error-streaming-2.sse"),
    "OpenRouter": ("openrouter/tool-call", "openrouter/glm-4.6-object-streaming.sse"),
    "OpenAI": ("openai/tool-call", "openai/gpt-3.5-turbo-open-ai-function-calls-tools-streaming-parallel.sse"),
}  # fmt: skip
"""By provider: the capture of the repository, and the recording that is preferred."""

_EVENT = re.compile(rb".+?(?:\r?\n){2,}|.+", re.DOTALL)
_TEXTS = rb"content|reasoning|reasoning_content|text|arguments"
_TEXT = re.compile(rb'("(?:%b)": ?")((?:[^"\\]|\\.)*)"' % _TEXTS)
_ID = re.compile(rb'("(?:id|[a-z_]+_id)": ?")([^"\\]*)"')
_CREATED = re.compile(rb'("created": ?)\d{10}\b')
_NAME = re.compile(rb'"name": ?"([\w-]+)"')
# Of neither an escape, nor `true`, `false` and `null` in the arguments of a call.
_LETTERS = b"ghijkmopqvwxyz"
_DIGITS = b"0123456789"


class Plan(NamedTuple):
    """One stream, as the request's header says it.

    Attributes:
        kind: `good`, `nim`, or the provider of a recording.
        events: How many; of a recording as many as it has.
        seed: What makes it unlike all others.
    """

    kind: str
    events: int
    seed: int

    @classmethod
    def of_header(cls, text: str) -> "Plan":
        """Return the plan in a request's header.

        Raises:
            ValueError: There is none.
        """
        kind, _, numbers = text.partition(" ")
        events, seed = map(int, numbers.split())
        if kind not in RECORDINGS and (kind not in (GOOD, NIM) or events <= FRAME):
            raise ValueError(f"invalid plan {text!r}")
        return cls(kind, events, seed)

    def header(self) -> str:
        """Return the same as a header."""
        return " ".join(map(str, self))

    def request(self) -> bytes:
        """Return the body of the request: it asks for what the answer has."""
        message = {"role": "user", "content": f"number {self.seed}, please"}
        body: dict[str, Any] = {"model": "bench", "stream": True, "messages": [message]}
        answer = _recording(self.kind) if self.kind in RECORDINGS else b'"usage":{'
        if re.search(rb'"usage": ?\{', answer):
            body["stream_options"] = {"include_usage": True}
        if names := sorted(set(_NAME.findall(answer))):
            body["tools"] = [
                {"type": "function", "function": {"name": name.decode()}}
                for name in names
            ]
        return json.dumps(body).encode()


@functools.lru_cache(STORED)
def sent(plan: Plan) -> list[bytes]:
    """Return the events that the provider sends."""
    return _fresh(plan) if plan.kind in RECORDINGS else _made(plan)


@functools.lru_cache(STORED)
def expected(plan: Plan, form: Form) -> tuple[bytes, ...]:
    """Return what has to arrive: where it is repaired, also what does after pauses.

    An opening that waits for the next event is sent after 100 ms, in the form it has then.
    """
    data = b"".join(sent(plan))
    if form != "repaired":
        return (text_of(data) if form == "text" else data,)
    found = []
    for pauses in (False, True):
        pipeline = Pipeline(Asked.from_body(plan.request()), FIXES)
        out: list[bytes] = []
        for event in sent(plan):
            out += pipeline.feed(event)
            out += pipeline.release() if pauses else []
        found.append(b"".join([*out, *pipeline.end()]))
    return tuple(dict.fromkeys(found))


def text_of(data: bytes) -> bytes:
    """Return all texts of a stream that has OpenAI's spelling, in order."""
    return b"\n".join(text for _, text in _TEXT.findall(data))


def size(kind: str) -> int:
    """Return how many events the recording of a provider has."""
    return len(_EVENT.findall(_recording(kind)))


def _made(plan: Plan) -> list[bytes]:
    draw = random.Random(plan.seed)
    nim = plan.kind == NIM
    head = {
        "id": f"{'chat-' if nim else 'chatcmpl-'}{draw.getrandbits(128):032x}",
        "object": "chat.completion.chunk",
        "created": 1_750_000_000 + plan.seed,
        "model": "meta/llama-3.1-8b-instruct" if nim else "acme/steady-70b-chat",
    }
    role = {"role": None} if nim else {}

    def event(choices: list[dict[str, Any]], **more: object) -> bytes:
        chunk = {**head, "choices": choices, **more}
        text = json.dumps(chunk, ensure_ascii=False, separators=(",", ":"))
        return f"data: {text}\n\n".encode()

    def one(delta: dict[str, Any], finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return event([choice | ({"stop_reason": None} if nim and finish else {})])

    def word() -> str:
        # A number here and there, as models write them, keeps the words from repeating.
        number = draw.choice(("", "", f"{draw.randrange(1000)}"))
        return f" {draw.choice(WORDS)}{number}"

    texts = plan.events - FRAME
    asked = draw.randrange(9, 4000)
    usage = {"prompt_tokens": asked, "completion_tokens": texts}
    return [
        one({"role": "assistant", "content": None if nim else ""}),
        *(one({**role, "content": word()}) for _ in range(texts)),
        one({**role, "content": ""} if nim else {}, "stop"),
        event([], usage={**usage, "total_tokens": asked + texts}),
        DONE,
    ]


@functools.cache
def _recording(kind: str) -> bytes:
    ours, theirs = RECORDINGS[kind]
    path = RECORDED / theirs
    return (path if path.is_file() else CAPTURES / ours / "response.sse").read_bytes()


def _fresh(plan: Plan) -> list[bytes]:
    """Return a recording with ids, a time and texts of its own, in the same form."""
    draw = random.Random(plan.seed)

    def drawn(letters: bytes) -> bytes:
        return bytes.maketrans(letters, bytes(draw.sample(letters, len(letters))))

    letters, digits = drawn(_LETTERS), drawn(_DIGITS)

    def by(table: bytes, found: re.Match[bytes]) -> bytes:
        return found[1] + found[2].translate(table) + b'"'

    data = _TEXT.sub(functools.partial(by, letters), _recording(plan.kind))
    data = _ID.sub(functools.partial(by, digits), data)
    data = _CREATED.sub(rb"\g<1>%d" % (1_750_000_000 + plan.seed), data)
    return _EVENT.findall(data)
