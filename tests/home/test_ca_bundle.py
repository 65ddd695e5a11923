"""The roots of this machine, whatever else is in its files."""

import base64
import ssl
from pathlib import Path

import certifi
import pytest

from llm_normalize.home import ca_bundle


def pem(der: bytes) -> str:
    text = base64.encodebytes(der).decode()
    return f"-----BEGIN CERTIFICATE-----\n{text}-----END CERTIFICATE-----"


@pytest.mark.parametrize(
    "der", [b"no certificate", b"", b"\x30\x82\x01\x00" + b"x" * 256]
)
def test_what_is_no_certificate_is_left_out(
    der: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without = ca_bundle.roots()
    path = tmp_path / "roots.pem"
    path.write_text(f"{pem(der)}\n{Path(certifi.where()).read_text()}")
    monkeypatch.setenv("SSL_CERT_FILE", str(path))
    found = ca_bundle.roots()
    assert found == without
    # One that is broken would keep a client from all of them.
    bundle = tmp_path / "bundle.pem"
    ca_bundle.write(bundle, found)
    ssl.create_default_context(cafile=str(bundle))


def test_bad_base64_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without = ca_bundle.roots()
    path = tmp_path / "roots.pem"
    path.write_text(pem(b"abc").replace("YWJj", "YWJ"))
    monkeypatch.setenv("SSL_CERT_FILE", str(path))
    assert ca_bundle.roots() == without
