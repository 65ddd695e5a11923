import pytest

from exchange.source.second_answers import SecondAnswers
from llm_normalize.exchange.source import pending_result, retry


@pytest.fixture
def upstream(monkeypatch: pytest.MonkeyPatch) -> SecondAnswers:
    """A provider that is asked again, and answers at once."""
    made = SecondAnswers()
    monkeypatch.setattr(retry, "send", made.send)
    monkeypatch.setattr(pending_result, "_LOOK", 0.001)
    return made
