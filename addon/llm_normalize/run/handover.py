"""What a start hands to mitmproxy by variables, and how it hears that mitmproxy serves.

`hooks` is the other end.
"""

import contextlib
import json
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from .mitmproxy_options import Listens

UPSTREAM_AUTH = "_LLM_NORMALIZE_UPSTREAM_AUTH"
"""Has the password of the upstream proxy."""
SAYS = "_LLM_NORMALIZE_SAYS"
"""Has the program's name, if mitmproxy is to say what to do next."""
READY = "_LLM_NORMALIZE_READY"
"""Has the path of the file that is to say where mitmproxy listens, and mitmweb's page."""

ENDS_WITH_INPUT = "_LLM_NORMALIZE_ENDS_WITH_INPUT"
"""Is set if mitmproxy is to end when its standard input does."""


class Ready:
    """The file in which mitmproxy writes where it listens, once it serves."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @property
    def variables(self) -> Mapping[str, str]:
        """What mitmproxy is started with."""
        return {READY: str(self._path)}

    def listens(self) -> tuple[Listens, ...]:
        """Where it listens; nothing as long as it does not."""
        return tuple(Listens(*each) for each in self._read().get("listens", ()))

    def page(self) -> str:
        """The address of mitmweb's page, with what lets one in; empty for other programs."""
        return str(self._read().get("page", ""))

    def _read(self) -> dict[str, Any]:
        try:
            return dict(json.loads(self._path.read_text("utf-8")))
        except FileNotFoundError:
            return {}


@contextlib.contextmanager
def awaited() -> Iterator[Ready]:
    """Make the file's folder, which goes with the block."""
    with tempfile.TemporaryDirectory(prefix="llm-normalize-") as folder:
        yield Ready(Path(folder) / "ready.json")
