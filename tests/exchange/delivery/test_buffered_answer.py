import gzip

import pytest

from llm_normalize.exchange.delivery import buffered_answer
from llm_normalize.exchange.message import message_body
from llm_normalize.exchange.state.running_answer import RunningAnswer
from llm_normalize.exchange.state.settings import Settings
from llm_normalize.fixes import FIXES
from llm_normalize.repair.engine.body import LARGE
from llm_normalize.wire.json_text import dumps
from llm_normalize.wire.limits import MAX_BODY
from proxies import BAD_BODY, GOOD_BODY, chat_flow, fail, messages, response_of


def running(*, observe: bool = False) -> RunningAnswer:
    settings = Settings(FIXES, strict=False, log=None, observe=observe)
    return RunningAnswer.of(chat_flow(request={"model": "m"}), settings)


def repair(
    data: bytes | None, *, encoding: str = "", observe: bool = False
) -> tuple[bytes | None, tuple[int, int, int]]:
    """Return the body that leaves, and the figures."""
    response = response_of(chat_flow(request={"model": "m"}))
    if encoding:
        response.headers["content-encoding"] = encoding
    response.raw_content = data
    figures = buffered_answer.repair_response(response, running(observe=observe))
    return response.raw_content, figures


def test_an_encoded_body_leaves_decoded() -> None:
    data = gzip.compress(dumps(GOOD_BODY))
    assert repair(data, encoding="gzip") == (
        dumps(GOOD_BODY),
        (1, len(data), len(dumps(GOOD_BODY))),
    )


@pytest.mark.parametrize(
    ("data", "encoding"),
    [
        (gzip.compress(bytes(2000), mtime=0), "gzip"),  # larger than it may be
        (gzip.compress(b"[]", mtime=0)[:-1], "gzip"),
        (b"nonsense", "gzip"),
        (b"nonsense", "zstd"),
        (b"nonsense", "compress"),
        (b"[" + b"1," * 60_000 + b"1]", ""),
    ],
)
def test_a_body_that_cannot_be_read_passes_and_is_named(
    data: bytes,
    encoding: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(message_body, "MAX_BODY", 1000 if encoding else MAX_BODY)
    assert repair(data, encoding=encoding) == (data, (0, len(data), len(data)))
    (said,) = messages(caplog)
    assert ": the body cannot be decoded" in said


def test_a_bug_lets_it_pass(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(buffered_answer, "repair_body", fail)
    assert repair(dumps(BAD_BODY))[0] == dumps(BAD_BODY)
    assert "repair failed" in messages(caplog, "ERROR")[0]


@pytest.mark.parametrize(
    ("data", "encoding", "slow"),
    [
        (dumps(GOOD_BODY), "", False),
        (b" " * LARGE, "", False),
        (b" " * (LARGE + 1), "", True),
        (gzip.compress(b" " * (LARGE + 1)), "gzip", True),
        (b"{}," * 1001, "", True),
        (b"data: x\n\n" * 501, "", True),
        (b"nonsense", "gzip", False),
    ],
)
def test_what_takes_long_is_known_before(
    data: bytes, encoding: str, slow: bool
) -> None:
    response = response_of(chat_flow(headers={"content-encoding": encoding}))
    response.raw_content = data
    assert buffered_answer.is_slow(response) is slow
