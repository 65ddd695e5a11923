"""Node, and what VS Code puts under its extensions, with the settings of their pages.

VS Code's part is the package that its extension host patches `http`, `https` and `fetch`
with, driven as that does it; VS Code itself is not run.
"""

import json
import os
import shutil
from pathlib import Path

import pytest

import environments
from clients.missing_environment import needed
from desktop.outside import Outside

PROGRAMS = Path(__file__).parent / "programs"
LOCK = PROGRAMS / "requirements-node.txt"
FILES = [PROGRAMS / "node" / name for name in ("package.json", "package-lock.json")]


@pytest.fixture(scope="module")
def client() -> list[str]:
    """How to start Node with a program that finds its packages."""
    folder = environments.folder_of(
        "desktop-npm", *(each.read_text() for each in FILES)
    )
    with needed("Node"):
        wheel = environments.make_python("desktop-node", LOCK).parents[1]
        found = environments.node_of(wheel)
        assert found
        node, npm = found
        environments.make_node(folder, FILES, npm)
    # Node looks for packages from where the file is.
    program = folder / f"node_client.{os.getpid()}.mjs"
    shutil.copyfile(PROGRAMS / "node_client.mjs", program)
    return [node, str(program)]


@pytest.mark.parametrize("way", ["fetch", "https"])
def test_node_takes_the_proxy_from_variables(
    outside: Outside, tmp_path: Path, client: list[str], way: str
) -> None:
    reported = {
        "HTTPS_PROXY": outside.proxy,
        "NODE_USE_ENV_PROXY": "1",
        "NODE_EXTRA_CA_CERTS": outside.ca,
    }
    command = [*client, way, "BASE"]
    outside.ask(command, reported, tmp_path)


@pytest.mark.parametrize("way", ["undici", "agent"])
def test_packages_take_the_proxy_on_any_node(
    outside: Outside, tmp_path: Path, client: list[str], way: str
) -> None:
    reported = {"HTTPS_PROXY": outside.proxy, "NODE_EXTRA_CA_CERTS": outside.ca}
    command = [*client, way, "BASE"]
    outside.ask(command, reported, tmp_path)


@pytest.mark.parametrize(
    "way", ["vscode-fetch", "vscode-https", "vscode-https-own-agent"]
)
def test_what_an_extension_of_vs_code_asks_takes_the_proxy_of_its_settings(
    outside: Outside, tmp_path: Path, client: list[str], way: str
) -> None:
    settings = {
        "http.proxy": outside.proxy,
        "http.proxySupport": "override",
        "http.proxyStrictSSL": True,
        "http.systemCertificates": True,
        "http.fetchAdditionalSupport": True,
    }
    reported = {"SETTINGS": json.dumps(settings), "SYSTEM_STORE": outside.ca}
    command = [*client, way, "BASE"]
    outside.ask(command, reported, tmp_path)
