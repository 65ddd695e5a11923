"""What of a request has no place in chat."""

from collections.abc import Collection

from ..protocol import JsonObject


class Dropped:
    """Paths of what is dropped, each once, without places in lists: `tools[].strict`."""

    def __init__(self) -> None:
        self._paths: dict[str, None] = {}

    def add(self, path: str) -> None:
        """Record what is at *path*."""
        self._paths[path] = None

    def beside(self, path: str, value: JsonObject, known: Collection[str]) -> None:
        """Record all of *value* but the *known* keys, and what is null."""
        for key, each in value.items():
            if key not in known and each is not None:
                self.add(f"{path}.{key}" if path else key)

    @property
    def paths(self) -> tuple[str, ...]:
        """What was dropped, in order."""
        return tuple(self._paths)
