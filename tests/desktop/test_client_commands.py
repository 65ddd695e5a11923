"""curl and Python, with the variables and options of their pages and nothing else."""

import json
import sys
from pathlib import Path

import pytest

import environments
from clients.missing_environment import needed
from desktop.outside import Outside
from nim_stream import ASKED

PROGRAMS = Path(__file__).parent / "programs"
JSON = "content-type: application/json"
CURL = ["curl", "-sSN", "-H", JSON, "-d", json.dumps(ASKED), "BASE/chat/completions"]
CA = "CA"  # what stands for the certificate's file


@pytest.fixture(scope="module")
def python() -> Path:
    """An interpreter with the packages that the addon does not need."""
    lock = PROGRAMS / "requirements-python.txt"
    with needed("the packages"):
        return environments.make_python("desktop", lock)


@pytest.mark.parametrize(
    ("options", "variables"),
    [
        (["--cacert", CA], {}),
        ([], {"CURL_CA_BUNDLE": CA}),
        ([], {"SSL_CERT_FILE": CA}),
    ],
    ids=["--cacert", "CURL_CA_BUNDLE", "SSL_CERT_FILE"],
)
def test_curl(
    outside: Outside, tmp_path: Path, options: list[str], variables: dict[str, str]
) -> None:
    command = [*CURL, *(outside.ca if each == CA else each for each in options)]
    reported = {"HTTPS_PROXY": outside.proxy} | dict.fromkeys(variables, outside.ca)
    lines = outside.ask(command, reported, tmp_path)
    assert lines[-2:] == ["data: [DONE]", ""]


@pytest.mark.parametrize(
    ("way", "variable"),
    [
        ("urllib", "SSL_CERT_FILE"),
        ("httpx", "SSL_CERT_FILE"),
        ("requests", "REQUESTS_CA_BUNDLE"),
        ("aiohttp", "SSL_CERT_FILE"),
        ("openai", "SSL_CERT_FILE"),
    ],
)
def test_python(
    outside: Outside, tmp_path: Path, python: Path, way: str, variable: str
) -> None:
    # httpx is here already, and its successor, which openai brings, there.
    interpreter = sys.executable if way == "httpx" else str(python)
    command = [interpreter, str(PROGRAMS / "python_client.py"), way, "BASE"]
    reported = {"HTTPS_PROXY": outside.proxy, variable: outside.ca}
    outside.ask(command, reported, tmp_path)
