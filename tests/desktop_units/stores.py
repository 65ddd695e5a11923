"""Stores of systems that are not here: what their commands would change, changes."""

import datetime as dt
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from desktop_units.machines import Recorded
from llm_normalize.desktop.machine import Result, System
from llm_normalize.desktop.trust.certificate import Certificate, read

DONE = Result(0)
FAILED = Result(1, err="it failed")


def certificates(path: Path) -> list[Certificate]:
    return [*read(path.read_text(encoding="ascii"))]


@dataclass(frozen=True)
class Simulated(Recorded):
    """A machine whose commands do to a folder what they do to a system.

    Attributes:
        instead: What commands say that then do nothing, by the word that tells them.
        places: Its folder of anchors, and the bundle that is made of them.
    """

    instead: dict[str, Result] = field(default_factory=dict)
    places: dict[str, Path] = field(default_factory=dict)

    def run(
        self, command: Sequence[str], *, text: str = "", timeout: float = 60
    ) -> Result:
        given = list(command)
        self.ran.append(given)
        if given[0] == "sudo":
            given = given[1:]
        for word in self.instead.keys() & {*given}:
            return self.instead[word]
        acts = {
            "install": self.copy,
            "rm": self.delete,
            "update-ca-certificates": self.update,
            "update-ca-trust": self.update,
            "trust": self.anchor,
        }
        return acts[given[0]](given[1:])

    # Linux

    def put(self, folder: str, bundle: str) -> None:
        """Make the folder of anchors, and the file that is made of them."""
        (self.root_folder / folder).mkdir(parents=True)
        path = self.root_folder / bundle
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("# no roots yet\n")
        self.places.update(folder=self.root_folder / folder, bundle=path)

    def copy(self, given: list[str]) -> Result:
        assert given[:2] == ["-m", "0644"]
        assert Path(given[3]).parent == self.places["folder"]
        Path(given[3]).write_bytes(Path(given[2]).read_bytes())
        return DONE

    def delete(self, given: list[str]) -> Result:
        assert given[0] == "-f"
        Path(given[1]).unlink(missing_ok=True)
        return DONE

    def update(self, given: list[str]) -> Result:
        if given[:1] == ["--certsconf"]:
            self.inputs.append(Path(given[1]).read_text())
        texts = [path.read_text() for path in sorted(self.places["folder"].iterdir())]
        self.places["bundle"].write_text("".join(texts))
        return DONE

    def anchor(self, given: list[str]) -> Result:
        verb, option, path = given
        assert verb == "anchor"
        stored = self.places["folder"] / (
            certificates(Path(path))[0].sha256 + ".p11-kit"
        )
        if option == "--store":
            stored.write_bytes(Path(path).read_bytes())
        else:
            assert option == "--remove"
            stored.unlink()
        return self.update([])


def simulated(
    system: System, folder: Path, *programs: str, root: bool = False
) -> Simulated:
    """Return a machine whose home and "/" lie in *folder*."""
    home = folder / "home"
    home.mkdir(parents=True)
    return Simulated(
        system=system,
        environ={},
        home=home,
        programs=programs,
        root=root,
        root_folder=folder,
    )


def debian(folder: Path, *programs: str, root: bool = True) -> Simulated:
    machine = simulated("linux", folder, "update-ca-certificates", *programs, root=root)
    machine.put("usr/local/share/ca-certificates", "etc/ssl/certs/ca-certificates.crt")
    (folder / "etc/debian_version").write_text("12.0\n")
    (folder / "etc/ca-certificates.conf").write_text("mozilla/One.crt\n")
    return machine


def other(program: str, anchors: str, bundle: str) -> Callable[[Path], Simulated]:
    """Return what makes a machine of another kind, whose user may use sudo."""

    def make(folder: Path) -> Simulated:
        machine = simulated("linux", folder, program, "sudo")
        machine.put(anchors, bundle)
        return machine

    return make


_FEDORA, _ARCH = "etc/pki/ca-trust", "etc/ca-certificates"
_BUNDLE = "tls-ca-bundle.pem"
SYSTEMS: dict[str, Callable[[Path], Simulated]] = {
    "debian": debian,
    "fedora": other(
        "update-ca-trust",
        f"{_FEDORA}/source/anchors",
        f"{_FEDORA}/extracted/pem/{_BUNDLE}",
    ),
    "arch": other("trust", f"{_ARCH}/trust-source", f"{_ARCH}/extracted/{_BUNDLE}"),
    "suse": other(
        "update-ca-certificates",
        "etc/pki/trust/anchors",
        "var/lib/ca-certificates/ca-bundle.pem",
    ),
}


def digest(folder: Path) -> str:
    """Return a hash of the files in *folder*: names, rights, links and bytes."""
    lines = []
    for path in sorted(folder.rglob("*")):
        held = b"" if path.is_dir() else path.read_bytes()
        lines.append(
            f"{path} {path.lstat().st_mode} {hashlib.sha256(held).hexdigest()}"
        )
    return "\n".join(lines)


def write_ca(folder: Path, begins: int, ends: int) -> None:
    """Write a CA that is valid between these days from now."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "mitmproxy")])
    now = dt.datetime.now(dt.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now + dt.timedelta(days=begins))
        .not_valid_after(now + dt.timedelta(days=ends))
        .sign(key, hashes.SHA256())
    )
    for each in ("ca", "ca-cert"):
        path = folder / f"mitmproxy-{each}.pem"
        path.write_bytes(made.public_bytes(serialization.Encoding.PEM))
        path.chmod(0o600)


def profile(root: Path, *paths: tuple[str, str]) -> None:
    root.mkdir(parents=True)
    lines = [
        f"[Profile{at}]\nName=n{at}\nIsRelative={relative}\nPath={path}\n"
        for at, (path, relative) in enumerate(paths)
    ]
    (root / "profiles.ini").write_text("[General]\nVersion=2\n\n" + "\n".join(lines))
    for path, _ in paths:
        (root / path).mkdir(parents=True)
        (root / path / "cert9.db").touch()
