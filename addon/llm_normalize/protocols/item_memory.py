"""Items of answers, for clients that send back the id of one in its place."""

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass

from ..wire.json_text import as_object, as_string, dumps, loads
from .protocol import JsonObject

_MOST = 16 * 1024 * 1024
"""Bytes of all items: the oldest go first."""


class ItemMemory:
    """The items of the latest answers, in memory alone.

    Args:
        most: The bytes that it takes at most.
    """

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._size = 0
        self._items: OrderedDict[tuple[bytes, str], bytes] = OrderedDict()

    def find(self, client: bytes, item_id: str) -> JsonObject | None:
        """Return the item that an answer to *client* had; None if it is not there."""
        found = self._items.get((client, item_id))
        return None if found is None else as_object(loads(found))

    def add(self, client: bytes, item: JsonObject) -> None:
        """Remember an *item* of an answer to *client*."""
        key, data = (client, as_string(item.get("id"))), dumps(item)
        self._size += len(data) - len(self._items.pop(key, b""))
        self._items[key] = data
        while self._size > self._most:
            _, oldest = self._items.popitem(last=False)
            self._size -= len(oldest)


@dataclass(frozen=True, slots=True)
class ClientItems:
    """The items of one client.

    Attributes:
        memory: Where they are.
        client: A mark of its credentials and address.
    """

    memory: ItemMemory
    client: bytes

    def find(self, item_id: str) -> JsonObject | None:
        """Return an item; None if it is not there."""
        return self.memory.find(self.client, item_id)

    def add(self, items: Iterable[JsonObject]) -> None:
        """Remember the *items* of an answer."""
        for item in items:
            self.memory.add(self.client, item)
