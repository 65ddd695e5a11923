"""The container file: linted, against itself, and its commands run.

No image was built of it: that takes a registry with the base image. What is tried is
that its instructions are sound, and that what they start serves, as the user that they
name, on a file system that it cannot write to.
"""

import functools
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import _bootstrap
import environments
import nobody
import support
from deploy.rig import BODY, HEAD, TAIL, broken
from desktop.starting import assert_it_repairs, is_open, running
from ports import free_port
from script_runs import ended
from support import Http1Client
from workshop import LOOPBACK
from workshop.deploy.instances import SETTINGS

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "scripts" / "deploy" / "Containerfile"
LOCK = "scripts/lock.txt"
TEXT = FILE.read_text(encoding="utf-8")
INSTALLED = "/opt/llm_normalize"
TOKEN = "made-up-token"


@functools.cache
def hadolint() -> str:
    lock = Path(__file__).with_name("requirements-container.txt")
    return str(environments.make_python("hadolint", lock).with_name("hadolint"))


def linted(text: str) -> str:
    done = ended(
        [hadolint(), "--no-color", "--failure-threshold", "style", "-"],
        input=text,
        stderr=subprocess.STDOUT,
    )
    return done.stdout + (f"exit {done.returncode}" if done.returncode else "")


def instructions() -> list[tuple[str, str]]:
    """Return the instructions: name, and what follows it."""
    lines = re.sub(r"(?m)^#.*\n", "", TEXT).replace("\\\n", " ").splitlines()
    found = [line.partition(" ") for line in lines if line.strip()]
    return [(name, " ".join(rest.split())) for name, _, rest in found]


def one_of(name: str, part: str) -> str:
    (found,) = [rest for each, rest in instructions() if each == name and part in rest]
    return found


def one(name: str) -> str:
    (found,) = [rest for each, rest in instructions() if each == name]
    return found


# -- the file ---------------------------------------------------------------------------


def test_the_linter_finds_no_fault() -> None:
    assert linted(TEXT) == ""


@pytest.mark.parametrize(
    ("right", "wrong", "rule"),
    [
        ("FROM ${BASE}", "FROM python:latest", "DL3007"),
        ("USER 65532:65532", "USER root", "DL3002"),
        ("STOPSIGNAL", "STOPSIGNL", "exit"),
    ],
)
def test_the_linter_finds_a_fault(right: str, wrong: str, rule: str) -> None:
    assert right in TEXT
    assert rule in linted(TEXT.replace(right, wrong))


def test_it_installs_what_was_reviewed_and_nothing_else() -> None:
    _, copied = one_of("COPY", LOCK).split()
    words = one_of("RUN", "pip install").split()
    assert {"--no-deps", "--require-hashes", ":all:"} < {*words}
    assert one_of("RUN", "pip install").startswith(
        f"sed '/^# development$/,$d' {copied} >"
    )
    made = words[words.index(copied) + 1].removeprefix(">")
    assert [words[at + 1] for at, word in enumerate(words) if word == "-r"] == [made]


def test_it_is_no_root_and_pinned() -> None:
    user, group = one("USER").split(":")
    assert user.isdecimal()
    assert int(user) > 0
    assert f"-o {user} -g {group} {one('VOLUME')}" in TEXT
    assert re.search(r":\d+\.\d+-slim-\w+$", one("ARG"))
    manifest = (FILE.parent / "kubernetes.yaml").read_text(encoding="utf-8")
    lock = _bootstrap.pinned(*_bootstrap.RUNTIME)
    (version,) = re.findall(r"(?m)^mitmproxy==(\S+)", lock)
    assert f"mitmproxy:{version}\n" in manifest


def test_it_is_started_as_elsewhere() -> None:
    script = json.loads(one("ENTRYPOINT"))[2]
    assert set(SETTINGS) <= set(script.split())
    assert script.startswith("exec ")  # else no signal reaches it
    assert one("STOPSIGNAL") == "SIGTERM"


def test_it_is_asked_for_its_health_as_in_kubernetes() -> None:
    manifest = (FILE.parent / "kubernetes.yaml").read_text(encoding="utf-8")
    program = json.loads(one("HEALTHCHECK").partition("CMD ")[2])[-1]
    lines = [line.strip().replace('"', "'") for line in manifest.splitlines()]
    assert [
        line.strip() for line in program.splitlines() if line.strip() not in lines
    ] == []


def test_nothing_but_the_addon_and_its_lock_gets_into_an_image() -> None:
    rules = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert [each for each in rules if not each.startswith("#")] == [
        "*", "!addon", f"!{LOCK}", "**/__pycache__", "**/*.pyc"
    ]  # fmt: skip
    assert [rest.split()[0] for name, rest in instructions() if name == "COPY"] == [
        LOCK, "addon"
    ]  # fmt: skip


# -- its commands -----------------------------------------------------------------------


def probe(port: int) -> int:
    program, *rest = json.loads(one("HEALTHCHECK").partition("CMD ")[2])
    assert program == "python3"
    given = [each.replace("8080", str(port)) for each in rest]
    command = [sys.executable, *given]
    return subprocess.run(command, stderr=subprocess.DEVNULL, check=False).returncode


def environment(upstream: str, **more: str) -> dict[str, str]:
    values = dict(each.split("=", 1) for each in one("ENV").split())
    path = f"{Path(sys.prefix) / 'bin'}:/usr/bin:/bin"
    return {**values, "PATH": path, "NORMALIZE_UPSTREAM": upstream, **more}


def entrypoint(port: int, code: Path, conf: Path) -> list[str]:
    """Return the command, with another port and other folders."""
    program, flag, script, name = json.loads(one("ENTRYPOINT"))
    for right, wrong in (
        (INSTALLED, str(code)),
        ("confdir=/conf", f"confdir={conf}"),
        ("--listen-host 0.0.0.0", f"--listen-host {LOOPBACK}"),
        ("8080", str(port)),
    ):
        assert right in script
        script = script.replace(right, wrong)
    return [program, flag, script, name]


@contextmanager
def container(
    folder: Path, upstream: str, *arguments: str, **more: str
) -> Iterator[tuple["subprocess.Popen[bytes]", int]]:
    """Do what the file says, in *folder*, and run it until it takes connections."""
    code, conf = folder / "code", folder / "conf"
    bare = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "addon", code, ignore=bare)
    (run,) = [rest for name, rest in instructions() if "compileall" in rest]
    compiling, _, making_conf = run.partition(" && ")
    words = compiling.replace(INSTALLED, str(code)).split()
    subprocess.run([sys.executable, *words[1:]], check=True)
    assert making_conf.split()[-1] == one("VOLUME") == "/conf"
    conf.mkdir(mode=0o700)
    port = free_port()
    command = [*entrypoint(port, code, conf), *arguments]
    variables = environment(upstream, **more) | {"HOME": str(conf)}
    with running(command, port, folder, variables) as process:
        yield process, port


def test_its_commands_serve_and_tell_that_they_do(tmp_path: Path) -> None:
    with support.Provider() as provider:
        upstream = f"http://{LOOPBACK}:{provider.port}"
        with container(tmp_path, upstream) as (process, port):
            before = sorted((tmp_path / "code").rglob("*"))
            assert probe(port) == 0
            assert provider.protocols == []  # it asked no provider
            assert_it_repairs(port, provider)
            process.terminate()
            assert process.wait(support.PATIENCE) == 0
            assert probe(port) != 0
    assert (tmp_path / "conf" / "normalize" / f"pairs-{port}.jsonl").exists()
    assert sorted((tmp_path / "code").rglob("*")) == before


def test_its_gate_is_shut_where_a_token_is_set(tmp_path: Path) -> None:
    with support.Provider() as provider:
        upstream = f"http://{LOOPBACK}:{provider.port}"
        given = {"NORMALIZE_GATE": TOKEN}
        with container(
            tmp_path, upstream, "--set", "normalize_mode=observe", **given
        ) as (
            _,
            port,
        ):
            script = provider.script(broken(HEAD), broken(TAIL))
            with Http1Client(support.connect(port)) as client:
                reply = client.post(script.path, BODY)
                assert (reply.status, TOKEN.encode() in reply.rest()) == (401, False)
            assert probe(port) == 0
    assert TOKEN not in (tmp_path / "log").read_text(encoding="utf-8")


def test_a_gate_that_is_set_and_empty_stops_the_start(tmp_path: Path) -> None:
    conf = tmp_path / "conf"
    command = entrypoint(free_port(), ROOT / "addon", conf)
    variables = environment("http://127.0.0.1:9", NORMALIZE_GATE="", HOME=str(conf))
    done = subprocess.run(
        command, env=variables, capture_output=True, timeout=60, check=False
    )
    assert done.returncode == 1
    assert b"the variable NORMALIZE_GATE is empty" in done.stdout + done.stderr


READ_ONLY = """
import os, sys
from pathlib import Path
sys.path[:0] = {folders!r}
import support
from desktop.starting import assert_it_repairs, running

for place in ({root!r}, "/usr", "/tmp", "/var/tmp"):
    try:
        open(place + "/written", "w")
    except OSError as error:
        assert error.errno == 30, error
    else:
        raise AssertionError(place)
with support.Provider() as provider:
    variables = {{**os.environ, "NORMALIZE_UPSTREAM": provider.url}}
    with running({command!r}, {port}, Path("/run/home"), variables) as process:
        assert_it_repairs({port}, provider)
        process.terminate()
        assert process.wait(support.PATIENCE) == 0
print("all is well", os.getuid(), *sorted(os.listdir("/run/home/conf/normalize")))
"""


@pytest.mark.skipif(bool(nobody.lacking()), reason=nobody.lacking())
def test_an_ordinary_user_serves_from_a_file_system_that_is_read_only() -> None:
    port, conf = free_port(), nobody.HOME / "conf"
    program = READ_ONLY.format(
        folders=[
            str(ROOT / each) for each in ("tests", "tests/helpers", "scripts", "addon")
        ],
        root=str(ROOT),
        command=entrypoint(port, ROOT / "addon", conf),
        port=port,
    )
    made = f"install -d -m 0700 -o {nobody.ID} -g {nobody.ID} {conf}"
    mounts = "awk '$2 !~ \"^/(proc|sys|dev|run)\" {print $2}' /proc/self/mounts"
    said = nobody.run(
        [sys.executable, "-c", program],
        environment("http://unused"),
        before=[
            made,
            # As --read-only: every mount, but for the volume (a tmpfs in /run).
            f"for at in $({mounts}); do mount -o remount,bind,ro $at; done",
        ],
    )
    files = f".pairs-{port}.jsonl.lock ca-bundle.pem pairs-{port}.jsonl"
    assert said.endswith(f"all is well {nobody.ID} {files}\n"), said
    assert not is_open(port)
    assert os.access(ROOT, os.W_OK)  # only there it was read-only
