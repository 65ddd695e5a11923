import pytest

from llm_normalize.request.refusals import learned_rejections as module
from llm_normalize.request.refusals.dropped_parameters import Change
from llm_normalize.request.refusals.learned_rejections import Learned, mark_of

SEED, STORE = Change(("seed",)), Change(("store",))
ME = mark_of([b"me"])
KEY = ("a.test", 443, "m", ME)


def test_what_helped_is_known_of_that_host_port_and_model() -> None:
    learned = Learned()
    assert learned.of(KEY) == ()
    assert not learned.knows("a.test", 443)
    learned.add(KEY, [SEED])
    learned.add(KEY, [STORE, SEED])
    assert learned.of(KEY) == (SEED, STORE)
    assert learned.knows("a.test", 443)
    assert not learned.knows("a.test", 8443)
    assert not learned.knows("b.test", 443)
    assert learned.of(("a.test", 443, "n", ME)) == ()


def test_nothing_is_known_of_nothing() -> None:
    learned = Learned()
    learned.add(KEY, [])
    learned.add(("a.test", 443, "m" * 201, ME), [SEED])
    assert not learned.knows("a.test", 443)


def test_the_pair_asked_for_longest_ago_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAIRS", 2)
    learned = Learned()
    first, second, third = ((f"{name}.test", 443, "m", ME) for name in "abc")
    learned.add(first, [SEED])
    learned.add(second, [SEED])
    assert learned.of(first)
    learned.add(third, [SEED])
    assert [bool(learned.of(key)) for key in (first, second, third)] == [
        True,
        False,
        True,
    ]
    assert not learned.knows("b.test", 443)


def test_changes_of_one_pair_are_bounded() -> None:
    learned = Learned()
    for n in range(100):
        learned.add(KEY, [Change((f"p{n}",))])
    assert len(learned.of(KEY)) == module.CHANGES


def test_what_one_client_was_refused_is_of_no_other() -> None:
    learned = Learned()
    learned.add(KEY, [SEED])
    assert learned.of((*KEY[:3], mark_of([b"you"]))) == ()


def test_mark_tells_credentials_apart_and_holds_none() -> None:
    credentials: tuple[list[bytes], ...] = (
        [b"ab", b"c"],
        [b"a", b"bc"],
        [b"abc"],
        [],
        [b""],
    )
    marks = [mark_of(each) for each in credentials]
    assert len({*marks, ME}) == 6
    assert mark_of([b"a"]) == mark_of([b"a"])
    assert {len(each) for each in marks} == {32}


def test_refusals_without_end_keep_the_memory_level(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "PAIRS", 8)
    learned = Learned()
    for n in range(10_000):
        key = ("a.test", 443, f"m{n % 100}", ME)
        learned.add(key, [Change((), str(n), "max-tokens-too-large")])
    known = [learned.of(("a.test", 443, f"m{n}", ME)) for n in range(100)]
    assert len([each for each in known if each]) == module.PAIRS
    assert max(map(len, known)) <= module.CHANGES
