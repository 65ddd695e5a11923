from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Whole streams are large to draw, and a busy machine is slow: neither is a failure.
settings.register_profile(
    "suite", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("long", settings.get_profile("suite"), max_examples=10_000)
settings.load_profile("suite")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-captures",
        action="store_true",
        help="write tests/captures/*/*/expected.sse anew; review the diff",
    )


@pytest.fixture
def captures() -> Path:
    return Path(__file__).parent / "captures"
