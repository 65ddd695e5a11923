from pathlib import Path

import pytest

from llm_normalize.desktop.trust import authority


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two folders of mitmproxy with a CA each, made once."""
    folders = [tmp_path_factory.mktemp("ca") / str(number) for number in range(2)]
    for folder in folders:
        authority.make(folder)
    return folders
