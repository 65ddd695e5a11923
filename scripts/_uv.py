"""uv in pip's place: with pip's settings, it fills an environment in seconds.

It does not read pip's configuration, where a company names its own index. So what pip
says about that is handed over in environment variables, which no list of processes
shows and no error quotes. What cannot be handed over is left to pip.

Not handed over are extra indexes. uv would ask them first, and whoever puts a package of
a known name there would be preferred (dependency confusion). The one index has all that
is pinned; where it cannot be reached, pip asks the others for the very same files.

Nor are constraints: beside hashes uv takes only those that name one version. Where they
may say something of what a lock pins, pip has to install it: see `Uv.may_install`.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Mapping, NamedTuple, Sequence

_HANDED_ON = {
    "cert": "SSL_CERT_FILE",
    "default-timeout": "UV_HTTP_TIMEOUT",
    "find-links": "UV_FIND_LINKS",
    "index-url": "UV_DEFAULT_INDEX",
    "timeout": "UV_HTTP_TIMEOUT",
    "trusted-host": "UV_INSECURE_HOST",
}
_CONSTRAINT = "constraint"  # `Uv.may_install` reads what it names
# What says neither where packages come from nor which are taken.
_OF_NO_CONCERN = {
    "break-system-packages", "cache-dir", "compile", "config-file", "debug",
    "disable-pip-version-check", "exists-action", "extra-index-url", "log",
    "no-cache-dir", "no-color", "no-compile", "no-input", "no-python-version-warning", "no-warn-conflicts",
    "no-warn-script-location", "progress-bar", "quiet", "require-venv",
    "require-virtualenv", "resume-retries", "retries", "root-user-action",
    "upgrade-strategy", "use-feature", "user", "verbose",
}  # fmt: skip
# The later of these wins, as with pip.
_SECTIONS = ("global", "install", ":env:")
_SETTING = re.compile(r"^(global|install|:env:)\.([\w-]+)=(.+)$", re.MULTILINE)
# What uv says of another hash and of none, and what pip says.
_MISMATCH = re.compile(
    "Hash mismatch|`--require-hashes` mode|DO NOT MATCH THE HASHES|--require-hashes mode"
)
_PACKAGE = re.compile(r"Hash mismatch for `([^`]+)`|^ +(\S+==\S+) from \S+.*:$")
# Of a requirement; an address, a path or an option has none.
_NAME = re.compile(r"([A-Za-z0-9][\w.-]*)\s*(?=[\[(<>=!~;@]|--hash\b|\Z)")
_ARCHIVE = re.compile(r"\.(?:whl|zip|tar|t?gz|bz2|xz|tbz|tlz|lzma)\Z", re.IGNORECASE)
_COMMENT_LINE = re.compile(r"(?m)^[ \t]*#.*$")  # pip does not continue one
_COMMENT = re.compile(r"(?:^|\s)#.*$")
_CREDENTIALS = re.compile(r"(?<=://)[^/\s]*@")


class Uv(NamedTuple):
    """A uv that can do what pip would, where `may_install` says so.

    Attributes:
        path: The program.
        variables: The environment variables that it needs.
        constrained: The packages whose versions pip's constraints limit; None if it is
            not known which.
    """

    path: str
    variables: dict[str, str]
    constrained: frozenset[str] | None

    def may_install(self, *locks: Path) -> bool:
        """Tell whether no constraint of pip's can say anything of what *locks* pin."""
        limits = self.constrained
        if not limits:
            return limits is not None
        pinned = [_names(each) for each in locks]
        return not any(names is None or names & limits for names in pinned)

    def command(self, python: str, arguments: Sequence[str]) -> list[str]:
        """Return what installs in the environment of *python*.

        Args:
            python: Where to.
            arguments: Requirements, and flags that uv and pip have in common.
        """
        quiet = ("--no-progress", "--color", "never")
        return [self.path, *quiet, "pip", "install", "--python", python, *arguments]


def variables_for(listing: str, cache: str) -> dict[str, str] | None:
    """Return the environment variables that give uv the settings of pip.

    Args:
        listing: What `pip config list` printed.
        cache: The folder for what is fetched. On the file system of the environments
            it is linked into them, not copied.

    Returns:
        None if pip has a setting that cannot be handed over.
    """
    variables = {
        "UV_CACHE_DIR": cache,
        "UV_HTTP_RETRIES": "2",
        "UV_INDEX_STRATEGY": "first-index",
        # A company's network may have a certificate that the system trusts alone.
        "UV_SYSTEM_CERTS": "1",
    }
    for name, value in _settings(listing).items():
        if name in _HANDED_ON:
            variables[_HANDED_ON[name]] = " ".join(value.split())
        elif name != _CONSTRAINT and name not in _OF_NO_CONCERN:
            return None
    if "UV_FIND_LINKS" in variables:
        variables["UV_FIND_LINKS"] = variables["UV_FIND_LINKS"].replace(" ", ",")
    if not variables.get("UV_HTTP_TIMEOUT", "0").isdigit():
        del variables["UV_HTTP_TIMEOUT"]  # uv wants whole seconds
    return variables


def _settings(listing: str) -> dict[str, str]:
    found = sorted(
        _SETTING.findall(listing), key=lambda setting: _SECTIONS.index(setting[0])
    )
    every = [(name, str(ast.literal_eval(value))) for _, name, value in found]
    return {name: value for name, value in every if value}  # as pip ignores empty ones


def constrained(listing: str) -> frozenset[str] | None:
    """Return the packages whose versions pip's settings limit, None if they do not tell.

    Args:
        listing: What `pip config list` printed.
    """
    found: set[str] = set()
    for path in _settings(listing).get(_CONSTRAINT, "").split():
        names = _names(Path(path))
        if names is None:
            return None
        found |= names
    return frozenset(found)


def _names(requirements: Path) -> set[str] | None:
    """Return the packages that a file names, None if it may mean others, too."""
    try:
        text = requirements.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return None  # pip takes addresses, too
    found = set()
    for line in _COMMENT_LINE.sub("", text).replace("\\\n", " ").splitlines():
        statement = _COMMENT.sub("", line).strip()
        if statement:
            name = _NAME.match(statement)
            if name is None or _ARCHIVE.search(name[1]):
                return None
            found.add(re.sub("[-_.]+", "-", name[1]).lower())
    return found


def extra_indexes(listing: str, variables: Mapping[str, str]) -> list[str]:
    """Return a line for each place that names extra indexes: what becomes of them.

    Args:
        listing: What `pip config list` printed.
        variables: The environment, which uv reads itself.
    """
    checked = "and whatever it sends must have the hash that is pinned"
    lines = []
    of_pip = _settings(listing).get("extra-index-url", "").split()
    if of_pip:
        lines.append(
            f"pip's extra index ({masked(' '.join(of_pip))}): uv does not ask it; pip "
            f"does where it has to do uv's work, {checked}"
        )
    lines += [
        f"{name} ({masked(variables[name])}): uv asks it, {checked}"
        for name in ("UV_INDEX", "UV_EXTRA_INDEX_URL")
        if variables.get(name)
    ]
    return lines


def mismatch(output: Sequence[str]) -> str | None:
    """Return what uv or pip refused for its hash, None if they failed otherwise."""
    if not any(_MISMATCH.search(line) for line in output):
        return None
    found = [match[1] or match[2] for match in map(_PACKAGE.search, output) if match]
    return found[0] if found else "a package"


def masked(text: str) -> str:
    """Return *text* without what stands before the @ of a URL."""
    return _CREDENTIALS.sub("****@", text)
