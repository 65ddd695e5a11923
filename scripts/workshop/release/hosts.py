"""Are the OpenAI-compatible hosts that LiteLLM knows opened by default, or listed as not?

The list beside this is LiteLLM's, of one version: `--upgrade` writes it from the newest.
"""

import ast
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

import _bootstrap
import _uv
from llm_normalize.routing.hosts import Hosts
from llm_normalize.routing.known_providers import HOSTS

LISTED = Path(__file__).with_name("litellm_hosts.txt")
HEAD = (
    "# OpenAI-compatible hosts of LiteLLM {}: scripts/check.py --upgrade writes them.\n"
)
NOT_OPENED = (
    # web sites, too
    "aihubmix.com", "app.empower.dev", "kymaapi.com", "nano-gpt.com", "pinstripes.io",
    # other services, too
    "api.charityengine.services", "api.clarifai.com", "api.cognition.ai",
    "api.edenai.run", "api.meta.ai", "api.sarvam.ai",
)  # fmt: skip
"""Those that carry much else."""


def hosts_of(package: Path) -> Iterator[str]:
    """Yield the hosts that LiteLLM's *package* names."""
    text = (package / "constants.py").read_text(encoding="utf-8")
    (listed,) = (
        node.value
        for node in ast.parse(text).body
        if isinstance(node, ast.AnnAssign)
        and ast.unparse(node.target) == "openai_compatible_endpoints"
        and isinstance(node.value, ast.List)
    )
    urls = [each.value for each in listed.elts if isinstance(each, ast.Constant)]
    known = package / "llms" / "openai_like" / "providers.json"
    urls += [each["base_url"] for each in json.loads(known.read_text("utf-8")).values()]
    for url in map(str, urls):
        yield urlsplit(url if "://" in url else f"https://{url}").hostname or ""


def write() -> None:
    """Write the list, of the newest LiteLLM.

    Raises:
        SetupError: It cannot be had.
    """
    with TemporaryDirectory() as folder:
        uv = _bootstrap.uv()
        exactly = ("--no-deps", "--only-binary", ":all:", "--target", folder)
        command = uv.command("pip", "install", *exactly, "litellm")
        _uv.run("fetching litellm", command, **uv.variables)
        (info,) = Path(folder).glob("litellm-*.dist-info")
        version = info.name.removesuffix(".dist-info").replace("-", " ").split()[1]
        hosts = sorted({*hosts_of(Path(folder, "litellm"))})
    LISTED.write_text(HEAD.format(version) + "\n".join(hosts) + "\n", encoding="utf-8")


def main() -> int:
    """Print the hosts that are neither opened nor listed as not; return 1 if there is any."""
    try:
        if "--upgrade" in sys.argv:
            write()
    except (_uv.SetupError, OSError) as error:
        print(*getattr(error, "lines", ()), error, sep="\n")
        return 1
    listed = LISTED.read_text(encoding="utf-8").splitlines()[1:]
    opened = Hosts.parse(HOSTS)
    drifted = [
        f"{host} is neither in HOSTS of routing/known_providers.py nor in NOT_OPENED here"
        for host in listed
        if host not in NOT_OPENED and not opened.include(host, 443)
    ]
    drifted += [
        f"{host} is in NOT_OPENED and not in LiteLLM's list, or opened"
        for host in NOT_OPENED
        if host not in listed or opened.include(host, 443)
    ]
    print(*drifted, sep="\n", end="\n" if drifted else "")
    return int(bool(drifted))


if __name__ == "__main__":
    sys.exit(main())
