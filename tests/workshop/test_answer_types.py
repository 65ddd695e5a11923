"""The forms of answers; tests/clients/test_types.py compares them with the libraries."""

import pytest

from clients.programs import RUNNERS
from workshop import ROOT
from workshop.answer_types import SOURCES, Source


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_types_are_written_from_the_version_that_is_pinned(source: Source) -> None:
    lock = (RUNNERS / f"requirements-{source.client}.txt").read_text(encoding="utf-8")
    pinned = lock.partition(":")[0].removeprefix("# ")
    text = (ROOT / source.path).read_text(encoding="utf-8")
    assert f"written from the types of {pinned}." in text
