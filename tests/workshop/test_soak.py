"""The soak: that it runs, that it repeats itself, and that nothing wrong escapes it."""

import functools
import itertools
import json
import os
import random
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import script_runs
from launchers import load
from llm_normalize.chat.state.asked import Asked
from llm_normalize.fixes import FIXES
from llm_normalize.repair.fix import DONE
from streams import feed
from workshop.soak import command
from workshop.soak.faults import FAULTS
from workshop.soak.judge import Seen, is_collected, judge
from workshop.soak.plan import DISCONNECT, KINDS, Plan, plan, session

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
SEED = 1
"""Of the plans that are judged here without a proxy."""

# Changes a letter of the model's words in each answer, after the addon.
DAMAGE = """
def responseheaders(flow):
    repair = flow.response.stream
    if callable(repair):
        flow.response.stream = lambda data: [
            each.replace(b">2 ", b">3 ") for each in repair(data)
        ]
"""

# Keeps every flow, and says that something crashed.
LEAK = """
import logging

KEPT = []


def response(flow):
    KEPT.append(flow)
    logging.getLogger(__name__).warning("it has crashed")
"""


# -- whole runs ------------------------------------------------------------------------


@script_runs.linux
def test_short_soak_finds_nothing_wrong() -> None:
    done = script_runs.run("soak", "--seed", "1", "--sessions", "24")
    assert done.returncode == 0, done.stdout + done.stderr
    said = dict(
        line.split(": ", 1) for line in done.stdout.splitlines() if ": " in line
    )
    plans = [plan(1, n) for k in range(24) for n in session(1, k).numbers]
    assert f": {len(plans)} streams (" in done.stdout
    kinds = Counter(each.kind for each in plans)
    assert said["asked"] == ", ".join(f"{kind} {n}" for kind, n in kinds.most_common())
    assert all(f"{fault} " in said["faults"] for fault in FAULTS if fault)
    assert int(said["pairs log"].split()[0]) > len(plans) * 0.8
    assert said["mitmdump"].endswith("left over: nothing")
    assert said["mismatches"] == "0; other faults: 0"


@script_runs.linux
def test_soak_tells_damaged_words_what_is_left_over_and_how_to_repeat_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    scripts = [tmp_path / "damage.py", tmp_path / "leak.py"]
    for path, text in zip(scripts, (DAMAGE, LEAK), strict=True):
        path.write_text(text)
    k = next(k for k in range(99) if any(b">2 " in each for each in texts(k)))
    figures = command.run(command.Asked(1, 60, only=k), scripts)
    assert figures.mismatches > 0
    assert figures.left_over["HTTPFlow"] > 0
    assert any("it has crashed" in each for each in figures.wrong)
    monkeypatch.setattr(command, "run", lambda _: figures)
    soak = load("soak")
    assert soak._run(soak.parse(["--seed", "1", "--only", f"{k}"])) == 1
    again = f"again: python3 scripts/soak.py --seed 1 --only {k}\n"
    assert capsys.readouterr().out.count(again) > 1


def texts(k: int) -> Iterator[bytes]:
    """Yield what the good streams of session *k* say, if all of them are good."""
    plans = [plan(1, n) for n in session(1, k).numbers]
    if not any(each.faults for each in plans):
        yield from (each.wire for each in plans if each.kind == "stream")


# -- plans -----------------------------------------------------------------------------

PRINTS = """
import sys
sys.path[:0] = sys.argv[1:4]
from workshop.soak.plan import plan, session
print([session(7, k) for k in range(40)], [plan(7, n) for n in range(120)])
"""


def test_same_seed_gives_the_same_plans_in_every_process() -> None:
    folders = [str(SCRIPTS.parent / name) for name in ("scripts", "tests", "addon")]
    # Its sets have another order than those here, whose salt is drawn.
    environ = {**os.environ, "PYTHONHASHSEED": "1"}
    command = [sys.executable, "-c", PRINTS, *folders]
    there = subprocess.check_output(command, env=environ, text=True)
    here = [session(7, k) for k in range(40)], [plan(7, n) for n in range(120)]
    assert there == f"{here[0]} {here[1]}\n"


@functools.cache
def plans() -> list[Plan]:
    return [plan(SEED, n) for n in range(1200)]


def test_all_kinds_faults_and_clients_are_planned() -> None:
    assert {each.kind for each in plans()} == set(KINDS)
    assert {each.transfer.fault for each in plans()} == set(FAULTS)
    assert {each.disconnect for each in plans()} == set(DISCONNECT)
    assert {each.transfer.framing for each in plans()} == {"chunked", "length", "close"}
    assert {each.transfer.encoding for each in plans()} == {"", "gzip", "deflate", "br"}
    for name in ("slow", "narrow"):
        assert {getattr(each, name) for each in plans()} == {True, False}
    assert len({name for each in plans() for name in each.quirks}) > 150


# -- the verdict: without a proxy, so that what comes is known ----------------------------


def seen(due: Plan) -> Seen:
    """Return what a client sees of a stream through nothing but the addon's core."""
    asked = replace(Asked.from_body(due.body), id="x", time=7)
    ended = not due.transfer.breaks
    out = b"".join(feed([due.wire], asked, FIXES, ended=ended))
    return Seen(200, {"content-type": "text/event-stream"}, out, clean=ended)


def some(wanted: Callable[[Plan], bool], count: int = 40) -> list[Plan]:
    """Return streams that are *wanted*, sent as they come, whose client stays."""
    known = [each for each in plans() if each.kind == "stream" and not each.disconnect]
    return [each for each in known if wanted(each) and not is_collected(each)][:count]


# Functions, since 1,200 plans take seconds, and every process collects the tests.
@functools.cache
def whole() -> list[Plan]:
    return some(lambda due: due.transfer.fault == "")


@functools.cache
def broken() -> list[Plan]:
    return some(lambda due: due.transfer.breaks and due.transfer.arrives)


@functools.cache
def speaking() -> list[Plan]:
    return [due for due in whole() if b'"content":"<' in seen(due).body]


def test_repaired_stream_is_good() -> None:
    cut = ("length too small", "gzip cut off")
    parts = some(lambda due: due.transfer.fault in cut)
    assert min(map(len, (whole(), broken(), parts))) > 3
    for due in (*whole(), *broken(), *parts):
        assert judge(due, seen(due)) == [], due


def test_no_byte_of_the_words_is_lost_doubled_or_changed_unseen() -> None:
    for due in whole():
        good = seen(due)
        dice = random.Random(due.n)
        mark = f"<{due.n}>".encode()
        found = [each.start() for each in re.finditer(re.escape(mark), good.body)]
        # A key that is the copy of another may say what it likes.
        copies = (b'"reasoning_text":"', b'"reasoning":"')
        for place in [at for at in found if not good.body[:at].endswith(copies)]:
            at = place + dice.randrange(len(mark))
            for other in (b"", good.body[at : at + 1] * 2, bytes([good.body[at] ^ 1])):
                body = good.body[:at] + other + good.body[at + 1 :]
                assert judge(due, replace(good, body=body)) != [], due


def blocks(body: bytes) -> list[bytes]:
    return [each + b"\n\n" for each in body.split(b"\n\n") if each]


def with_words(body: bytes) -> int:
    """Return the place of an event that says something."""
    events = blocks(body)
    return next(at for at, each in enumerate(events) if b'"content":"<' in each)


FORGED = b'data: {"id":"x","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n'  # fmt: skip


type Damage = Callable[[list[bytes], int, bytes], list[bytes]]
"""Of events, the place of one with words, and one of another stream."""
DAMAGES: dict[str, Damage] = {
    "swap": lambda events, at, other: [*events[:at], other, *events[at + 1 :]],
    "lose": lambda events, at, _: [*events[:at], *events[at + 1 :]],
    "double": lambda events, at, _: [*events[: at + 1], *events[at:]],
    "end early": lambda events, *_: events[:-1],
    "end twice": lambda events, *_: [*events, DONE],
}


@pytest.mark.parametrize("name", DAMAGES)
def test_damaged_stream_is_reported(name: str) -> None:
    for due, other in itertools.pairwise(speaking()):
        good, another = seen(due), blocks(seen(other).body)
        events = blocks(good.body)
        if due.meaning.errors or (name == "end early" and events[-1] != DONE):
            continue  # its end is not told by [DONE]
        place, words = with_words(good.body), another[with_words(seen(other).body)]
        body = b"".join(DAMAGES[name](events, place, words))
        assert judge(due, replace(good, body=body)) != [], due


def test_success_forged_after_a_break_is_reported() -> None:
    for due in broken():
        good = seen(due)
        ended = b'"finish_reason":"' in good.body or b"[DONE]" in due.wire
        if not ended and b'"choices"' in good.body:
            finish = FORGED.replace(b'"x"', f'"chatcmpl-<{due.n}>"'.encode())
            for forged in (finish, DONE, finish + DONE):
                assert judge(due, replace(good, body=good.body + forged)) != [], due
        is_complete = good.body.endswith(DONE)
        assert (judge(due, replace(good, clean=True)) == []) is is_complete, due


def test_answer_that_breaks_off_by_itself_is_reported() -> None:
    for due in whole():
        good = seen(due)
        assert judge(due, replace(good, clean=False)) == ["it broke off"]
        assert judge(due, replace(good, status=500)) != []
        assert judge(due, replace(good, headers={})) != []
        assert judge(due, replace(good, error="it did not end")) == ["it did not end"]


def test_client_that_leaves_has_the_beginning() -> None:
    for due in speaking()[:12]:
        good = seen(due)
        for at in range(0, len(good.body), 97):
            part = replace(good, body=good.body[:at], left=True, clean=False)
            assert judge(due, part) == []
        wrong = good.body.replace(f"<{due.n}>".encode(), b"<>", 1)
        assert judge(due, replace(good, body=wrong, left=True)) != []


def test_hole_in_a_body_is_answered_with_an_error() -> None:
    error = {"message": "a part is lost", "type": None, "param": None, "code": None}
    body = json.dumps({"error": error}).encode()
    lost = Seen(502, {"content-type": "application/json"}, body, clean=True)
    bodies = [due for due in plans() if due.kind == "stream for body"]
    due = next(each for each in bodies if not (each.faults or each.meaning.errors))
    hole = replace(due, quirks=("event-broken/list",))
    assert judge(hole, lost) == []
    assert judge(hole, replace(lost, body=b"no error")) != []
    assert judge(replace(due, quirks=()), lost) != []


def test_unrepaired_body_is_good_only_where_the_addon_was_reloaded() -> None:
    due = next(due for due in plans() if due.kind == "body" and due.quirks)
    raw = Seen(200, {}, due.transfer.sent, clean=True)
    assert judge(due, raw) != []
    assert judge(due, raw, reloaded=True) == []
    assert judge(due, replace(raw, body=raw.body[:-1]), reloaded=True) != []


def test_other_answers_have_to_pass_as_they_are() -> None:
    others = [due for due in plans() if due.kind == "other" and not due.disconnect]
    for due in others:
        raw = Seen(200, due.headers, due.transfer.sent, clean=True)
        assert judge(due, raw) == []
        assert judge(due, replace(raw, body=raw.body + b"\n")) != []
