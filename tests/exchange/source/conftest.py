import pytest

from exchange.source.second_answers import SecondAnswers
from llm_normalize.exchange.source import polling, retry


@pytest.fixture
def upstream(monkeypatch: pytest.MonkeyPatch) -> SecondAnswers:
    """A provider that is asked again, and answers at once."""
    made = SecondAnswers()
    monkeypatch.setattr(retry, "send", made.send)
    monkeypatch.setattr(polling, "_LOOK", 0.001)
    return made
