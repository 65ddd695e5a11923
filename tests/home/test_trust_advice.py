"""What is said of trust, and that each place says it."""

import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from llm_normalize.home import trust_advice
from llm_normalize.text import command_line
from script_runs import ended

ROOT = Path(__file__).parents[2]
TRUST = f"python3 {shlex.quote(str(ROOT / 'scripts' / 'run.py'))} trust install"

DEBIAN = (
    "/usr/local/share/ca-certificates/mitmproxy-ca.crt && sudo update-ca-certificates"
)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def test_the_command_names_this_checkout_and_any_unusual_folder(home: Path) -> None:
    usual = trust_advice.of(home / ".mitmproxy", system="linux")
    assert usual.install == TRUST
    other = trust_advice.of(home / "a b", system="linux")
    assert other.install == f"{TRUST} --confdir '{home}/a b'"


def test_what_is_to_be_set_is_what_a_shell_understands(home: Path) -> None:
    confdir = home / "it's a folder"
    confdir.mkdir()
    (confdir / trust_advice.CERTIFICATE).write_text("the certificate")
    (confdir / "normalize").mkdir()
    (confdir / "normalize" / "ca-bundle.pem").write_text("all roots")
    found = trust_advice.of(confdir, "http://127.0.0.1:9", system="linux")
    lines = [found.exports]
    names = (*trust_advice.BUNDLES, trust_advice.EXTRA)
    lines += [f'cat "${name}"' for name in names]
    lines += ['echo "$HTTPS_PROXY"', found.curl.replace("curl --cacert", "cat")]
    done = ended(["sh", "-ec", "\n".join(lines)], check=True)
    # Node adds it to its own roots; what the others are given replaces theirs.
    assert done.stdout.count("the certificate") == 1
    assert done.stdout.count("all roots") == len(trust_advice.BUNDLES) + 1
    assert "http://127.0.0.1:9\n" in done.stdout
    assert found.sentence.startswith(found.install)
    for words in (found.install, found.exports, found.curl):
        assert words in found.sentence
        assert words in found.markdown
    assert "HTTPS_PROXY" not in trust_advice.of(confdir, system="linux").sentence


def test_another_machine_is_not_led_to_a_file_of_this_one() -> None:
    found = trust_advice.afar("http://192.0.2.1:8080")
    assert found.install == ""
    assert "trust install" not in found.markdown
    assert "http://192.0.2.1:8080/ca-bundle.pem" in found.exports
    assert 'NODE_EXTRA_CA_CERTS="$PWD/ca-bundle.pem"' in found.exports


def test_commands_of_windows() -> None:
    confdir = Path("/C's/a b")
    found = trust_advice.of(confdir, "http://h:1", system="windows")
    file = str(confdir.absolute() / trust_advice.CERTIFICATE)
    assert found.install.startswith("py ")
    assert found.install.endswith(
        f'run.py trust install --confdir "{confdir.absolute()}"'
    )
    assert "$env:HTTPS_PROXY = 'http://h:1'; $env:SSL_CERT_FILE = " in found.exports
    assert f"'{file.replace("'", "''")}'" in found.exports
    bundle = confdir.absolute() / "normalize" / "ca-bundle.pem"
    assert found.curl == f'curl --cacert "{bundle}"'


@pytest.mark.parametrize(
    ("there", "system", "command"),
    [
        ("", "linux", f"sudo install -D -m 0644 /c/mitmproxy-ca-cert.pem {DEBIAN}"),
        ("a", "linux", "sudo trust anchor --store /c/mitmproxy-ca-cert.pem"),
        ("", "macos", "security add-trusted-cert -r trustRoot "),
        ("", "windows", "certutil -user -addstore Root "),
    ],
)
def test_an_addon_folder_alone_names_the_systems_own_command(
    there: str,
    system: str,
    command: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(command_line, "CHECKOUT", tmp_path / "run.py")
    monkeypatch.setattr(command_line, "_installed", lambda: None)
    (tmp_path / "a").mkdir()
    arch = replace(trust_advice.ARCH, folder=str(tmp_path / (there or "none")))
    monkeypatch.setattr(trust_advice, "_OTHERS", (arch,))
    found = trust_advice.of(Path("/c"), system=system)
    assert found.install.startswith(command)
    assert "mitmproxy-ca-cert.pem" in found.install
    assert "trust install" not in found.sentence


def test_an_installed_package_names_its_own_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command_line, "CHECKOUT", tmp_path / "run.py")
    monkeypatch.setattr(command_line, "_installed", lambda: "llm-normalize")
    found = trust_advice.of(tmp_path / ".mitmproxy", system="linux", home=tmp_path)
    assert found.install == "llm-normalize trust install"
