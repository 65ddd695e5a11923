"""The hosts of LiteLLM against those that are opened."""

import pytest

from llm_normalize.routing.known_providers import HOSTS
from workshop.release import hosts


def test_every_host_of_litellm_is_opened_or_listed_as_not() -> None:
    assert hosts.main() == 0


def test_drift_is_reported_either_way(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(hosts, "NOT_OPENED", (*hosts.NOT_OPENED, "gone.test"))
    monkeypatch.setattr("workshop.release.hosts.HOSTS", HOSTS[:-1])
    assert hosts.main() == 1
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == [
        "vanchin.streamlake.ai",
        "gone.test",
    ]
