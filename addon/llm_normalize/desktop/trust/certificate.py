"""Certificates as stores know them: bytes, fingerprints, and the names they go by."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization

_BLOCK = re.compile(
    r"-----BEGIN (?:TRUSTED )?CERTIFICATE-----(.*?)-----END (?:TRUSTED )?CERTIFICATE-",
    re.DOTALL,
)


@dataclass(frozen=True)
class Certificate:
    """A certificate.

    Attributes:
        der: Its bytes, which tell it from every other.
    """

    der: bytes

    @cached_property
    def x509(self) -> x509.Certificate:
        """The certificate, read. Raises ValueError if it is none."""
        with warnings.catch_warnings():  # roots of the nineties break today's rules
            warnings.simplefilter("ignore")
            return x509.load_der_x509_certificate(self.der)

    @property
    def is_readable(self) -> bool:
        """Whether it is a certificate at all."""
        try:
            return self.x509 is not None
        except ValueError:
            return False

    @property
    def sha256(self) -> str:
        """The fingerprint as 64 hexadecimal digits, in lower case."""
        return hashlib.sha256(self.der).hexdigest()

    @property
    def sha1(self) -> str:
        """The fingerprint by which macOS and Windows name it: 40 digits, capitals."""
        return hashlib.sha1(self.der, usedforsecurity=False).hexdigest().upper()

    @property
    def fingerprint(self) -> str:
        """The SHA-256 as browsers write it, in capitals with colons."""
        return self.x509.fingerprint(hashes.SHA256()).hex(":").upper()

    @property
    def name(self) -> str:
        """The name it gets in a store: like no other's, and the same each time."""
        return f"mitmproxy-ca-{self.sha256[:8]}"

    @property
    def subject(self) -> str:
        """Whom it names, in the form of RFC 4514."""
        return self.x509.subject.rfc4514_string()

    @property
    def begins(self) -> datetime:
        """From when it is valid."""
        return self.x509.not_valid_before_utc

    @property
    def ends(self) -> datetime:
        """Until when it is valid."""
        return self.x509.not_valid_after_utc

    @property
    def is_valid(self) -> bool:
        """Whether it is valid now."""
        return self.begins <= datetime.now(UTC) <= self.ends

    @property
    def pem(self) -> str:
        """Its text form, with a line end behind it."""
        return self.x509.public_bytes(serialization.Encoding.PEM).decode()

    def is_namesake(self, other: Certificate) -> bool:
        """Tell whether *other* is another certificate of the same subject."""
        if other.der == self.der:
            return False
        # Reading a hundred roots takes a while, and the subject stands in its bytes.
        if self.x509.subject.public_bytes() not in other.der:
            return False
        return other.is_readable and bool(other.x509.subject == self.x509.subject)


def read(text: str) -> Iterator[Certificate]:
    """Yield the certificates in *text*, PEM blocks among anything else."""
    for block in _BLOCK.finditer(text):
        try:
            yield Certificate(base64.b64decode("".join(block[1].split())))
        except binascii.Error:
            continue
