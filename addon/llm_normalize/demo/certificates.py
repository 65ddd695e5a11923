"""A throw-away CA for the demo's provider."""

import datetime as dt
import ipaddress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec


def write_certificates(folder: Path, address: str) -> tuple[Path, Path]:
    """Write a CA's certificate, and a key with the certificate that it signed.

    The CA's own key is never written. Python 3.13 checks strictly, hence the extensions.

    Args:
        folder: Where to.
        address: The IP address that the certificate is for.

    Returns:
        The CA's certificate, then the key with its certificate, as PEM files.
    """
    ca_key = ec.generate_private_key(ec.SECP256R1())
    ca_name = _name("llm_normalize demo CA")
    ca_public = ca_key.public_key()
    ca_id = x509.AuthorityKeyIdentifier.from_issuer_public_key(ca_public)
    ca = (
        _builder(ca_name, ca_name, ca_public)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_SIGNS, critical=True)
        .sign(ca_key, hashes.SHA256())
    )
    key = ec.generate_private_key(ec.SECP256R1())
    names = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(address))])
    leaf = (
        _builder(_name(address), ca_name, key.public_key())
        .add_extension(names, critical=False)
        .add_extension(ca_id, critical=False)
        .sign(ca_key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    ca_file, chain_file = folder / "provider-ca.pem", folder / "provider.pem"
    ca_file.write_bytes(ca.public_bytes(serialization.Encoding.PEM))
    chain_file.write_bytes(private + leaf.public_bytes(serialization.Encoding.PEM))
    return ca_file, chain_file


_SIGNS = x509.KeyUsage(
    digital_signature=False,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    key_cert_sign=True,
    crl_sign=True,
    encipher_only=False,
    decipher_only=False,
)


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, text)])


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey
) -> x509.CertificateBuilder:
    now = dt.datetime.now(dt.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(hours=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(
            x509.SubjectKeyIdentifier.from_public_key(key),
            critical=False,
        )
    )
