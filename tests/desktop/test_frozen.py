"""The zip in a frozen mitmdump, made here as mitmproxy makes its standalone binary."""

import gzip
import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import brotli
import pytest

import environments
import support
import test_layout
from deploy.rig import ANSWER, BODY, HEAD, TAIL, broken
from desktop.starting import LOCAL, running
from ports import free_port
from script_runs import ended
from support import Http1Client, Provider
from workshop.release import files as build

HERE = Path(__file__).parent
KEPT = ("frozen.spec", "frozen_main.py", "requirements-frozen.txt")
ASKS = """
import importlib, json, sys
missing = []
for name in {names!r}:
    try:
        importlib.import_module(name)
    except ImportError as error:
        missing.append(f"{{name}}: {{error}}")
print("asked", json.dumps([missing, getattr(sys, "frozen", False)]))
sys.exit(0)
"""
SAYS = """
import sys
from mitmproxy import ctx, io

def running():
    with open({flows!r}, "rb") as file:
        stored = list(io.FlowReader(file).stream())
    call = ctx.master.commands.call
    print("fixes", len(call("normalize.fixes")))
    print("stats", call("normalize.stats"))
    print("rerun", call("normalize.rerun", stored))
    print("capture", call("normalize.capture", stored, {folder!r}))
    from mitmproxy import contentviews
    view = contentviews.registry["Before/After"]
    metadata = contentviews.Metadata(flow=stored[0], http_message=stored[0].response)
    print("view", view.prettify(stored[0].response.raw_content, metadata))
    ctx.master.shutdown()
"""


@pytest.fixture(scope="module")
def mitmdump() -> Path:
    """The frozen program, made anew only if what it is made of has changed."""
    lock = HERE / "requirements-frozen.txt"
    texts = [(HERE / name).read_text(encoding="utf-8") for name in KEPT]
    folder = environments.folder_of("frozen", *texts, sys.version)
    program = folder / "dist" / "mitmdump" / "mitmdump"
    if program.exists():
        return program
    tools = environments.make_python("frozen-tools", lock)
    with environments.making(folder) as part:
        part.mkdir(parents=True)
        for name in KEPT:
            shutil.copy(HERE / name, part)
        command = [str(tools), "-m", "PyInstaller"]
        work = part / "build"  # PyInstaller's own name for it
        command += ["--log-level", "WARN", "--workpath", str(work), KEPT[0]]
        # What is compiled beside the modules in another run, and is there for a moment
        # only, would be taken for the modules' data.
        compiled = {"PYTHONPYCACHEPREFIX": str(work / "compiled")}
        environments.run("freezing mitmdump", *command, folder=part, variables=compiled)
        shutil.rmtree(work)
    return program


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The script of the unpacked zip."""
    folder = tmp_path_factory.mktemp("zip")
    made = build.make_zip(folder, build.epoch())
    with zipfile.ZipFile(made) as file:
        file.extractall(folder)
    return folder / made.stem / "normalize.py"


def said(folder: Path, mitmdump: Path, *arguments: str) -> str:
    done = ended(
        [str(mitmdump), "-q", "-n", "--set", f"confdir={folder}", *arguments],
        stdin=subprocess.DEVNULL,
        stderr=subprocess.STDOUT,
        env={"HOME": str(folder), "PATH": "/usr/bin:/bin"},
    )
    return done.stdout


def test_it_is_frozen_and_has_all_that_the_addon_imports(
    mitmdump: Path, tmp_path: Path
) -> None:
    brought = {name for names in test_layout.BRINGS.values() for name in names}
    # One is Windows', and of those for zstd that mitmproxy brings the oldest.
    elsewhere = {"msvcrt", "compression", "backports"}
    names = sorted({*test_layout.STDLIB, *brought} - elsewhere)
    asks = tmp_path / "asks.py"
    asks.write_text(ASKS.format(names=[*names, "sqlite3"]))
    line = said(tmp_path, mitmdump, "-s", str(asks)).partition("asked ")[2]
    missing, frozen = json.loads(line.splitlines()[0])
    assert frozen is True
    # It shows that what is in the list is not there by chance.
    assert [each.partition(":")[0] for each in missing] == ["sqlite3"]


def test_it_repairs_and_logs_and_its_commands_work(
    mitmdump: Path, script: Path, tmp_path: Path
) -> None:
    home, flows = tmp_path / "home", tmp_path / "flows"
    home.mkdir()
    port = free_port()
    with Provider() as provider:
        command = [str(mitmdump), "-s", str(script), "-w", str(flows)]
        command += ["--listen-host", LOCAL, "-p", str(port)]
        command += ["--mode", f"reverse:http://{LOCAL}:{provider.port}"]
        variables = {"HOME": str(home), "PATH": "/usr/bin:/bin"}
        with running(command, port, tmp_path, variables) as process:
            whole = broken(HEAD) + broken(TAIL)
            for encoding, data in {
                "identity": whole,
                "gzip": gzip.compress(whole),
                "br": brotli.compress(whole),
            }.items():
                half = len(data) // 2
                played = provider.script(
                    data[:half], data[half:], headers={"content-encoding": encoding}
                )
                with Http1Client(support.connect(port)) as client:
                    assert client.post(played.path, BODY).rest() == ANSWER, encoding
            process.terminate()
            assert process.wait(support.PATIENCE) == 0
    log = (tmp_path / "log").read_text(encoding="utf-8")
    assert "Traceback" not in log
    pairs = home / ".mitmproxy" / "normalize" / f"pairs-{port}.jsonl"
    kept = [json.loads(line) for line in pairs.read_text().splitlines()]
    ends = [each for each in kept if each["type"] == "flow"]
    assert [(each["end"], each["fixes"]) for each in ends] == [
        ("complete", {"data-space-missing": len(kept) // 3 - 1})
    ] * 3

    says, captures = tmp_path / "says.py", tmp_path / "captures"
    says.write_text(SAYS.format(flows=str(flows), folder=str(captures)))
    reported = said(home, mitmdump, "-s", str(script), "-s", str(says))
    assert "Traceback" not in reported
    words = {line.partition(" ")[0] for line in reported.splitlines()}
    assert {"fixes", "stats", "rerun", "capture", "view"} <= words, reported
    assert "data-space-missing" in reported
    assert list(captures.rglob("response.sse")), reported


def test_the_zip_was_read_only_as_far_as_it_must(script: Path) -> None:
    # Python's own caches at most: all that is logged is in mitmproxy's folder.
    made = {path for path in script.parent.rglob("*") if path.is_file()}
    with zipfile.ZipFile(script.parent.with_name(f"{script.parent.name}.zip")) as file:
        packed = {script.parent.parent / name for name in file.namelist()}
    assert {path for path in made - packed if path.suffix != ".pyc"} == set()
