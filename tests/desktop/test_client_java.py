"""A program for the JVM, which is what JetBrains' IDEs are; no IDE of theirs is run."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from desktop.outside import Outside
from support import LOOPBACK, PATIENCE

PROGRAM = Path(__file__).parent / "programs" / "JavaClient.java"


@pytest.fixture
def classes(tmp_path: Path) -> Path:
    """Where the program is, compiled."""
    if shutil.which("javac") is None:
        what = "no Java Development Kit is installed (default-jdk-headless)"
        assert not os.environ.get("CI"), what
        pytest.skip(what)
    folder = tmp_path / "classes"
    _run("javac", "-d", str(folder), str(PROGRAM))
    return folder


def test_java_takes_proxy_and_trust_store_from_properties(
    outside: Outside, tmp_path: Path, classes: Path
) -> None:
    store = str(tmp_path / "trust.p12")
    _run(
        *("keytool", "-importcert", "-noprompt", "-alias", "mitmproxy"),
        *("-file", outside.ca, "-keystore", store, "-storepass", "changeit"),
    )
    command = [
        "java",
        f"-Dhttps.proxyHost={LOOPBACK}",
        f"-Dhttps.proxyPort={outside.mitmdump.port}",
        f"-Djavax.net.ssl.trustStore={store}",
        "-Djavax.net.ssl.trustStorePassword=changeit",
        *("-cp", str(classes), "JavaClient", "BASE"),
    ]
    outside.ask(command, {}, tmp_path)


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True, timeout=3 * PATIENCE)
