from collections.abc import Iterator
from pathlib import Path

import pytest

from proxies import Proxy


@pytest.fixture
def proxy(tmp_path: Path) -> Iterator[Proxy]:
    with Proxy(tmp_path / "conf") as proxy:
        yield proxy
