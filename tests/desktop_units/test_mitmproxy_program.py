import os
import sys
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from llm_normalize.desktop.mitmproxy_program import program, script

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", ["mitmdump", "mitmweb", "mitmproxy"])
def test_program_is_that_of_this_python(name: str) -> None:
    assert program(name).parent == Path(sys.executable).parent
    assert program(name).stem == name


def test_a_program_elsewhere_is_found_as_a_shell_does(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / ("mitmfoo.exe" if os.name == "nt" else "mitmfoo")
    path.touch(0o755)
    assert program("mitmfoo") == Path("mitmfoo")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert program("mitmfoo") == path


def test_launcher_of_addons_finds_the_script() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    groups = tomllib.loads(text)["project"]["entry-points"]
    (value,) = groups["mitmproxy_addon_launcher.addon_script"].values()
    # As it reads them: mitmproxy_addon_launcher.get_addons.
    found = EntryPoint("llm_normalize", value, "").load().__file__
    assert found == str(script())
