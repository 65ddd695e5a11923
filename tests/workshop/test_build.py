import zipfile
from pathlib import Path

import pytest

from workshop.release import files as build


@pytest.fixture
def project(tmp_path: Path) -> Path:
    package = tmp_path / "project" / "addon" / "llm_normalize"
    (package / "__pycache__").mkdir(parents=True)
    (package / "__init__.py").write_text('"""Doc."""\n\n__version__ = "9.8.7"\n')
    (package / "__pycache__" / "x.pyc").touch()
    (package / ".hidden").touch()
    (package.parent / "normalize.py").write_text("addons = []\n")
    (package.parent / "docs").mkdir()
    (package.parent / "docs" / "limits.md").write_text("# Limits\n")
    (tmp_path / "project" / "LICENSE").write_text("MIT\n")
    return tmp_path / "project"


def test_zip_has_one_folder_with_all_that_is_needed(project: Path) -> None:
    made = build.make_zip(project, 1700000000, project)
    assert made.name == "llm_normalize-9.8.7.zip"
    with zipfile.ZipFile(made) as file:
        assert file.namelist() == [
            f"llm_normalize-9.8.7/{name}"
            for name in (
                "HOWTO.txt",
                "LICENSE",
                "docs/limits.md",
                "llm_normalize/__init__.py",
                "normalize.py",
            )
        ]
        howto = file.read("llm_normalize-9.8.7/HOWTO.txt").decode()
        modes = {entry.external_attr >> 16 for entry in file.infolist()}
    assert howto.startswith("llm_normalize 9.8.7: ")
    assert "--listen-host 127.0.0.1" in howto
    assert modes == {0o100644}
