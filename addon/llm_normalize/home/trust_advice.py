"""How clients come to trust mitmproxy's CA: the one place that puts it into words.

The log, the home page, the pages for clients, `run` and `check` all say it.
"""

import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ..text.command_line import SYSTEM, command_line, is_at_hand, quoted
from . import ca_bundle

CERTIFICATE = "mitmproxy-ca-cert.pem"
BUNDLES = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE")
"""What Python (and much else) and requests take all their roots from."""
EXTRA = "NODE_EXTRA_CA_CERTS"
"""What Node takes the CA from, which it adds to its own roots."""
WITHOUT = "without a desktop (a server, a container, WSL), in the shell that starts the client"


@dataclass(frozen=True)
class Anchors:
    """A folder from which a Linux takes the CAs that its user adds.

    Attributes:
        folder: The folder.
        suffix: How a file's name ends there; empty where the command names the file itself.
        update: The command that reads it.
    """

    folder: str
    suffix: str
    update: tuple[str, ...]

    def command(self, file: str) -> str:
        """The command to add *file*, which is quoted."""
        update = f"sudo {' '.join(self.update)}"
        if not self.suffix:
            return f"{update} {file}"
        copy = f"{self.folder}/mitmproxy-ca{self.suffix}"
        return f"sudo install -D -m 0644 {file} {copy} && {update}"


DEBIAN = Anchors(
    "/usr/local/share/ca-certificates", ".crt", ("update-ca-certificates",)
)
FEDORA = Anchors(
    "/etc/pki/ca-trust/source/anchors", ".pem", ("update-ca-trust", "extract")
)
SUSE = Anchors("/etc/pki/trust/anchors", ".pem", ("update-ca-certificates",))
ARCH = Anchors("/etc/ca-certificates/trust-source", "", ("trust", "anchor", "--store"))
_OTHERS = (ARCH, FEDORA, SUSE)
"""Those that their folders tell apart; all others do as Debian does."""
MACOS = (
    "security", "add-trusted-cert", "-r", "trustRoot", "-p", "ssl", "-p", "basic", "-k",
)  # fmt: skip
"""What adds a file to a keychain, which follows, as does the file."""
KEYCHAIN = ("Library", "Keychains", "login.keychain-db")
"""The user's keychain, below the user's folder."""
WINDOWS = ("-user", "-addstore", "Root")
"""By which arguments Windows' certutil adds the file that follows."""


@dataclass(frozen=True)
class Advice:
    """What to do, each of it as a shell takes it.

    Attributes:
        install: The command after which this machine trusts the CA; empty for a client
            on another one.
        exports: The commands that lead one shell's programs to the proxy, and let
            them trust the CA, where there is no desktop.
        curl: What curl takes instead.
    """

    install: str
    exports: str
    curl: str

    @property
    def sentence(self) -> str:
        """All of it on one line, the command first."""
        return f"{self.install}; {WITHOUT}: {self.exports}; {self.curl}"

    @property
    def markdown(self) -> str:
        """All of it as a page has it; code stands in blocks, whatever is in a path."""
        here = "To have this machine and its browsers trust the CA:"
        install = f"{here}\n\n```sh\n{self.install}\n```\n\n" if self.install else ""
        code = f"```sh\n{self.exports}\n{self.curl}\n```"
        return f"{install}{self.without}:\n\n{code}"

    @property
    def without(self) -> str:
        """Where `exports` and `curl` are for."""
        return f"{WITHOUT[0].upper()}{WITHOUT[1:]}"


def of(
    confdir: Path, proxy: str = "", *, system: str = SYSTEM, home: Path | None = None
) -> Advice:
    """The advice for this machine.

    Args:
        confdir: mitmproxy's folder, which has the certificate.
        proxy: The proxy's URL; empty where no setting of a client's leads to it.
        system: This machine's kind, `linux`, `macos` or `windows`.
        home: The user's folder.
    """
    values = {"HTTPS_PROXY": proxy} if proxy else {}
    bundle = str(ca_bundle.path_of(confdir.absolute()))
    return Advice(
        command("install", confdir, system=system, home=home),
        setting(values | variables(confdir), system=system),
        f"curl --cacert {quoted(bundle, system=system)}",
    )


def variables(confdir: Path) -> dict[str, str]:
    """Return the variables by which most programs trust the CA, beside all other roots."""
    folder = confdir.absolute()
    bundle = str(ca_bundle.path_of(folder))
    return dict.fromkeys(BUNDLES, bundle) | {EXTRA: str(folder / CERTIFICATE)}


def afar(base: str) -> Advice:
    """The advice for another machine, which has no file of this one's.

    Args:
        base: The proxy's URL, as that machine reaches it.
    """
    bundle = ca_bundle.BUNDLE
    names = " ".join(f'{name}="$PWD/{bundle}"' for name in (*BUNDLES, EXTRA))
    fetch = f"curl --noproxy '*' -o {bundle} {base}/{bundle}"
    exports = f"{fetch} && export HTTPS_PROXY={base} {names}"
    return Advice("", exports, f"curl --cacert {bundle}")


def command(
    act: str, confdir: Path, *, system: str = SYSTEM, home: Path | None = None
) -> str:
    """The command by which `llm-normalize trust` does *act*.

    Where the addon's folder is alone, as with mitmproxy's standalone program, there is no
    such command: it is the system's own that installs the CA.

    Args:
        act: `install`, `remove` or `status`.
        confdir: mitmproxy's folder.
        system: This machine's kind.
        home: The user's folder.
    """
    confdir = confdir.absolute()
    if not is_at_hand():
        return by_system(str(confdir / CERTIFICATE), system)
    words = [act]
    if confdir != Path(home or os.path.expanduser("~")) / ".mitmproxy":  # noqa: PTH111 - it never raises
        words += ["--confdir", str(confdir)]
    return command_line("trust", *words, system=system)


def setting(values: Mapping[str, str], *, system: str = SYSTEM) -> str:
    """The command by which the system's shell sets variables."""
    if system == "windows":
        escaped = {name: value.replace("'", "''") for name, value in values.items()}
        return "; ".join(f"$env:{name} = '{value}'" for name, value in escaped.items())
    words = (f"{name}={shlex.quote(value)}" for name, value in values.items())
    return f"export {' '.join(words)}"


def by_system(file: str, system: str) -> str:
    """The system's own command by which its programs trust the CA in *file*."""
    shown = quoted(file, system=system)
    if system == "windows":
        return f"certutil {' '.join(WINDOWS)} {shown}"
    if system == "macos":
        return f"{' '.join(MACOS)} ~/{'/'.join(KEYCHAIN)} {shown}"
    known = (each for each in _OTHERS if Path(each.folder).is_dir())
    return next(known, DEBIAN).command(shown)
