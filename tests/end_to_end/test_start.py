"""What a start and a reload do with bad options, versions and packages, in real processes."""

import os
import pty
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from llm_normalize import conformance
from nim_stream import ASKED, STREAM
from support import (
    ADDON,
    LOOPBACK,
    PATIENCE,
    Http1Client,
    Mitmdump,
    Provider,
    connect,
    starting,
)

TOKEN = "token-canary-0815"

_START = "from mitmproxy.tools.main import {0}; {0}()"


# -- a start -----------------------------------------------------------------------


def started(
    folder: Path,
    ca: Path,
    program: str,
    *args: str,
    before: str = "",
    addon: Path = ADDON,
) -> str:
    """Run *program* in a terminal until it ends, with 1, and return what it said."""
    confdir = folder / "conf"
    shutil.copytree(ca, confdir, dirs_exist_ok=True)
    listen = ("--listen-host", LOOPBACK, "--listen-port", "0")
    script = ("-s", str(addon / "normalize.py"), "--set", f"confdir={confdir}")
    web = ("--no-web-open-browser", "--web-port", "0") if program == "mitmweb" else ()
    code = before + _START.format(program)
    ours, its = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", code, *listen, *args, *script, *web],
        stdin=its,
        stdout=its,
        stderr=its,
        env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "200"},
    ) as process:
        os.close(its)
        said = b""
        try:
            while part := _read(ours):
                said += part
            ended = process.wait(PATIENCE)
        finally:
            process.kill()
            os.close(ours)
    text = said.decode(errors="replace").replace("\r", "")
    assert ended == 1, text
    assert "Traceback" not in text
    return text


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # it has ended
        return b""


def test_values_of_the_wrong_type_end_the_start_with_a_sentence(
    tmp_path: Path, mitm_ca: Path
) -> None:
    bad = ("normalize_retry=sixty", "normalize_hsots=a.test")
    given = [word for each in bad for word in ("--set", each)]
    said = started(tmp_path, mitm_ca, "mitmproxy", *given)
    assert "invalid normalize_retry 'sixty': expected a whole number" in said
    assert "unknown option normalize_hsots: did you mean normalize_hosts?" in said


def test_older_mitmproxy_is_named_and_so_is_the_way_out(
    tmp_path: Path, mitm_ca: Path
) -> None:
    before = "from mitmproxy import version; version.VERSION = '11.0.2'; "
    said = started(tmp_path, mitm_ca, "mitmdump", before=before)
    assert "This is mitmproxy 11.0.2 on Python 3." in said
    assert "needs mitmproxy 12 on Python 3.12" in said
    assert "python3 scripts/run.py" in said


# -- a reload ----------------------------------------------------------------------

type Start = Callable[..., Mitmdump]


@pytest.fixture
def start(
    tmp_path: Path, addon: Path, mitm_ca: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Start]:
    """Start a mitmdump of the test's own with that copy, and a token in its environment."""
    monkeypatch.setenv("A_TOKEN", TOKEN)
    with starting(tmp_path, mitm_ca, addon=addon) as begin:
        yield begin


def half_write(addon: Path) -> Callable[[], None]:
    """Break a module, and return how to correct it."""
    module = addon / "llm_normalize" / "repair" / "fix.py"
    text = module.read_text(encoding="utf-8")
    module.write_text(text + "\ndef half(", encoding="utf-8")
    return lambda: _write(module, text)


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def asked(
    mitmdump: Mitmdump, url: str, token: str = TOKEN, host: str = "localhost"
) -> tuple[int, bytes]:
    bearer = {"authorization": f"Bearer {token}"}
    reply = mitmdump.ask(url, ASKED, bearer, host=host)
    return reply.status, reply.body


def refuse_options(addon: Path) -> Callable[[], None]:
    """Let the addon load, and fail at its options."""
    module = addon / "llm_normalize" / "options.py"
    text = module.read_text(encoding="utf-8")
    _write(module, text + "\ndef declare(loader: object) -> None:\n    0 / 0\n")
    return lambda: _write(module, text)


def half_write_script(addon: Path) -> Callable[[], None]:
    script = addon / "normalize.py"
    text = script.read_text(encoding="utf-8")
    _write(script, text[: text.index("    def requestheaders") + 20])

    def correct() -> None:
        later = script.stat().st_mtime
        _write(script, text)
        os.utime(script, (later, later))

    return correct


@pytest.mark.parametrize("damage", [refuse_options, half_write_script])
def test_gate_stays_shut_until_the_package_loads_again(
    start: Start,
    provider: Provider,
    addon: Path,
    damage: Callable[[Path], Callable[[], None]],
) -> None:
    place = f"{LOOPBACK}:{provider.port}"
    mitmdump = start("--mode", f"reverse:http://{place}", normalize_gate="env:A_TOKEN")
    script = provider.script(*STREAM)
    assert asked(mitmdump, script.path)[0] == 200
    assert asked(mitmdump, script.path, "other")[0] == 401
    correct = damage(addon)
    for _ in range(2):
        mitmdump.reload()
        mitmdump.wait_for("normalize: every request is refused. The addon ")
        for token in (TOKEN, "other"):
            status, body = asked(mitmdump, script.path, token)
            assert (status, conformance.check_error_body(body)) == (503, [])
    assert len(script.requests) == 1
    correct()
    mitmdump.reload()
    assert asked(mitmdump, script.path)[0] == 200
    assert asked(mitmdump, script.path, "other")[0] == 401
    assert TOKEN not in mitmdump.printed()


def test_gate_of_a_proxy_stays_shut_likewise(
    start: Start, provider: Provider, addon: Path
) -> None:
    place = f"{LOOPBACK}:{provider.port}"
    mitmdump = start(normalize_hosts=place, normalize_gate="env:A_TOKEN")
    script = provider.script(*STREAM)
    url = f"http://{place}{script.path}"
    assert asked(mitmdump, url, host=place)[0] == 200
    correct = half_write(addon)
    mitmdump.reload()
    assert asked(mitmdump, url, host=place)[0] == 503
    with connect(mitmdump.port) as raw:
        raw.sendall(f"CONNECT {place} HTTP/1.1\r\nhost: {place}\r\n\r\n".encode())
        answer = b""
        while not answer.endswith(b"}}"):
            part = raw.recv(65536)
            assert part, answer
            answer += part
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 503 ")
    assert conformance.check_error_body(body) == []
    correct()
    mitmdump.reload()
    assert asked(mitmdump, url, host=place)[0] == 200


def test_without_a_gate_the_log_says_that_nothing_is_repaired(
    start: Start, secure: dict[str, Provider], addon: Path, provider_ca: Path
) -> None:
    provider = secure["http/1.1"]
    mitmdump = start(
        normalize_hosts="localhost", ssl_verify_upstream_trusted_ca=str(provider_ca)
    )
    place = f"localhost:{provider.port}"
    script = provider.script(*STREAM)

    def post(ca: Path) -> bytes:
        with connect(mitmdump.port, tunnel=place, ca=ca) as tunnel:
            return Http1Client(tunnel).post(script.path, ASKED).rest()

    repaired = post(mitmdump.ca)
    assert repaired != b"".join(STREAM)
    correct = half_write(addon)
    mitmdump.reload()
    mitmdump.wait_for("normalize: nothing is repaired. The addon cannot be loaded: ")
    mitmdump.wait_for("SyntaxError: '(' was never closed (fix.py, line ")
    # As other hosts' TLS was before, all is closed now.
    assert post(provider_ca) == b"".join(STREAM)
    correct()
    mitmdump.reload()
    assert post(mitmdump.ca) == repaired


def test_package_that_never_loaded_ends_the_start(
    tmp_path: Path, mitm_ca: Path, addon: Path
) -> None:
    half_write(addon)
    said = started(tmp_path, mitm_ca, "mitmdump", addon=addon)
    assert "normalize: The addon cannot be loaded: SyntaxError: " in said
    assert f"then touch {addon / 'normalize.py'}" in said


def test_key_that_is_gone_at_a_reload_is_reported_and_the_rest_counts(
    start: Start, provider: Provider, tmp_path: Path
) -> None:
    key, token = tmp_path / "key", tmp_path / "token"
    key.write_text("nvapi-canary")
    token.write_text(TOKEN)
    place = f"{LOOPBACK}:{provider.port}"
    mitmdump = start(
        *("--mode", f"reverse:http://{place}"),
        normalize_keys=f"{LOOPBACK}=file:{key}",
        normalize_gate=f"file:{token}",
        normalize_skip="role-null",
    )
    script = provider.script(*STREAM)
    assert asked(mitmdump, script.path)[0] == 200
    key.unlink()
    mitmdump.reload()
    mitmdump.wait_for(f"normalize_keys: {LOOPBACK}: the file cannot be read")
    assert [asked(mitmdump, script.path, each)[0] for each in (TOKEN, "")] == [200, 401]
    assert "Traceback" not in mitmdump.printed()
    token.unlink()
    mitmdump.reload()
    mitmdump.wait_for("normalize_gate: the file cannot be read")
    assert asked(mitmdump, script.path)[0] == 401
