"""The peers' own code: fetched by pip, unpacked, and never a part of this project.

`servers/NAME.py` starts it with a stub in place of its model; `servers/source-NAME.txt`
pins it to the byte. No package is installed, for that would compile C++ or bring
gigabytes: what it imports is in one environment, which `servers/requirements.txt` pins.
"""

import tarfile
import tempfile
import zipfile
from pathlib import Path

import _uv
import environments

SERVERS = Path(__file__).resolve().parent / "servers"
LOCK = SERVERS / "requirements.txt"
ONLY = {
    "chatglm_cpp": "chatglm_cpp/",
    "llama_cpp_python": "llama_cpp/",
    "sglang": "sglang/srt/",
}
"""The part of each source that is kept."""


def lock_of(name: str) -> Path:
    """Return the file that pins a source."""
    return SERVERS / f"source-{name}.txt"


def fetch(name: str) -> Path:
    """Return the folder with a source, fetched if need be.

    Raises:
        EnvironmentLackingError: It cannot be had.
    """
    pinned = lock_of(name).read_text("utf-8")
    folder = environments.folder_of(f"peer-{name}", pinned)
    if not folder.exists():
        with (
            environments.making(folder) as part,
            tempfile.TemporaryDirectory() as there,
        ):
            pip = (*_uv.pip(), "download", "--no-deps", "--no-input")
            quiet = ("--disable-pip-version-check", "--quiet", "--retries", "2")
            exactly = ("--require-hashes", "-r", str(lock_of(name)))
            environments.run(
                "fetching it with pip", *pip, *quiet, "-d", there, *exactly
            )
            part.mkdir()
            for archive in Path(there).iterdir():
                _unpack(archive, ONLY[name], part)
    return folder


def _unpack(archive: Path, only: str, folder: Path) -> None:
    """Unpack what is below *only*; a source distribution has all in one folder."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            names = [each for each in wheel.namelist() if each.startswith(only)]
            wheel.extractall(folder, names)
        return
    with tarfile.open(archive) as tar:
        for member in tar:
            _, _, member.name = member.name.partition("/")
            if member.name.startswith(only) and member.isfile():
                tar.extract(member, folder, filter="data")
