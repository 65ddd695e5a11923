from collections.abc import Iterator
from pathlib import Path

import pytest

from proxies import Proxy


@pytest.fixture
def proxy(tmp_path: Path) -> Iterator[Proxy]:
    """The addon with its default options; it ends with the test."""
    with Proxy(tmp_path) as made:
        yield made
