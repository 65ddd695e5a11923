"""The variables by which a program uses the proxy, trusts its CA, and all other roots."""

import contextlib
import re
import warnings
from collections.abc import Mapping
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, pkcs12

from ..desktop import node
from ..desktop.machine import Machine
from ..home import ca_bundle, trust_advice
from ..records import private_file
from ..text.console import complain
from ..text.network_address import LOCAL, address

_CURL = "CURL_CA_BUNDLE"
_JAVA = "JAVA_TOOL_OPTIONS"
_WORD = re.compile(r"""(?:"[^"]*"|'[^']*'|\S)+""")
"""One of Java's options there, which may have blanks in quotes."""
_PASSWORD = "changeit"  # noqa: S105 - Java's own, of a file without a secret


def variables(machine: Machine, port: int, confdir: Path) -> dict[str, str]:
    """The variables to set for the programs of this machine, and no others.

    Args:
        machine: The machine.
        port: Where the proxy listens on it.
        confdir: The proxy's folder.
    """
    url = f"http://{address(LOCAL, port)}"
    trust = trust_advice.variables(confdir)
    bundle = ca_bundle.path_of(confdir.absolute())
    _say_what_is_lost(machine, bundle)
    return {
        "HTTPS_PROXY": url,
        "https_proxy": url,  # which counts where a shell has both
        **trust,
        # Not the CA alone: the shell may have had a file of others there.
        trust_advice.EXTRA: str(bundle),
        _CURL: str(bundle),
        node.SWITCH: "1",
        **_of_java(machine, port, bundle),
    }


def _say_what_is_lost(machine: Machine, bundle: Path) -> None:
    """Say which certificates the shell's own settings have and the bundle lacks."""
    named = dict[str, str]()
    for name in (*trust_advice.BUNDLES, trust_advice.EXTRA, _CURL):
        if path := machine.environ.get(name):
            named.setdefault(path, name)
    for path, name in named.items():
        count = 0
        with contextlib.suppress(
            OSError, ValueError
        ):  # it is no use to programs, either
            count = ca_bundle.lacking(bundle, Path(path))
        if count:
            repair = trust_advice.setting(
                {"SSL_CERT_FILE": path}, system=machine.system
            )
            complain(
                f"programs lose certificates that {name} names and the proxy lacks "
                f"({count} in {path}); start the proxy with that file: {repair}"
            )


def _of_java(machine: Machine, port: int, bundle: Path) -> Mapping[str, str]:
    """Return the options of Java, which follows no variable; nothing without a Java."""
    if not (machine.find("java") or machine.environ.get("JAVA_HOME")):
        return {}
    if not hasattr(pkcs12, "serialize_java_truststore"):
        complain(
            "Java does not use the proxy: its file of roots needs cryptography 45 or newer "
            "(pip install -U cryptography). Or give it a base URL"
        )
        return {}
    store = bundle.with_suffix(".p12")
    with contextlib.suppress(OSError, ValueError):
        _write_store(bundle, store)
    options = {
        "https.proxyHost": LOCAL,
        "https.proxyPort": port,
        "javax.net.ssl.trustStore": f'"{store}"' if " " in str(store) else store,
        "javax.net.ssl.trustStoreType": "PKCS12",
        "javax.net.ssl.trustStorePassword": _PASSWORD,
    }
    made = [f"-D{name}={value}" for name, value in options.items()]
    ours = tuple(f"-D{name}=" for name in options)
    given = _WORD.findall(machine.environ.get(_JAVA, ""))
    others = [each for each in given if not each.startswith(ours)]
    return {_JAVA: " ".join([*others, *made])}


def _write_store(bundle: Path, store: Path) -> None:
    is_file = store.is_file() and not store.is_symlink()
    if is_file and store.stat().st_mtime >= bundle.stat().st_mtime:
        return
    with warnings.catch_warnings():  # some systems' roots have a serial number of 0
        warnings.simplefilter("ignore")
        found = x509.load_pem_x509_certificates(bundle.read_bytes())
    entries = [
        pkcs12.PKCS12Certificate(each, str(number).encode())
        for number, each in enumerate(found)
    ]
    encryption = BestAvailableEncryption(_PASSWORD.encode())
    made = pkcs12.serialize_java_truststore(entries, encryption)
    private_file.write(store, made)  # never through a link
