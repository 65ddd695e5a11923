"""Models that are listed, and answer that they are not there: the list leaves them out."""

import re
import time
from collections import OrderedDict

from ...routing.model_names import model_list
from ...wire.json_text import dumps
from .missing_path import is_path_missing

_NOT_FOUND, _GONE = 404, 410
STATUSES = (_NOT_FOUND, _GONE)
"""Statuses of answers that may say so."""
SECONDS = 3600.0
"""How long a model is left out."""
_MODELS = 256
"""Models that are remembered: clients choose the names."""
_NAME = 200  # characters of a model's name
_FUNCTION = b"Function '"
"""NIM's word for a model: `Function '…': Not found for account '…'`."""

_ABSENT = re.compile(
    r"\bmodel\b[^.;]{0,80}\b(?:not (?:be )?found|does ?n[o']t exist|unknown|invalid|retired"
    r"|deprecated|decommissioned|no longer|end of life)\b"
    r"|\b(?:no such|unknown|unsupported|invalid) model\b|\bmodel_not_found\b",
    re.IGNORECASE,
)
"""Words for a model that is not there, and not for what a client may not use."""

type Source = tuple[str, int, bytes]
"""A host, its port, and a mark of the client: another account may have the model."""


def is_model_gone(status: int, body: bytes, path: str, model: str) -> bool:
    """Tell whether an answer says that its request's model is not there.

    Args:
        status: The HTTP status.
        body: Its decoded body.
        path: The path of the request, which the answer may quote.
        model: The model.
    """
    if status != _NOT_FOUND:
        return status == _GONE
    if _FUNCTION in body:
        return True
    is_absent = _ABSENT.search(body.decode(errors="replace"))
    return bool(is_absent) and not is_path_missing(status, body, path, model)


class GoneModels:
    """The models that are gone, by whom they were asked; each for an hour."""

    def __init__(self) -> None:
        self._until: OrderedDict[tuple[Source, str], float] = OrderedDict()

    def __bool__(self) -> bool:
        """Tell whether there may be any."""
        return bool(self._until)

    def add(self, source: Source, model: str) -> bool:
        """Note that *model* is gone; tell whether that is new."""
        if not 0 < len(model) <= _NAME:
            return False
        is_new = not self._is_gone(source, model)
        self._until[source, model] = time.monotonic() + SECONDS
        self._until.move_to_end((source, model))
        while len(self._until) > _MODELS:
            self._until.popitem(last=False)
        return is_new

    def remove(self, source: Source, model: str) -> None:
        """Note that *model* is there."""
        self._until.pop((source, model), None)

    def without(self, body: bytes, source: Source) -> bytes | None:
        """Return a list of models (`GET /models`) without those; None if it has none of them."""
        found = model_list(body)
        if found is None:
            return None
        value, listed = found
        there = [
            each
            for each in listed
            if not (isinstance(each, dict) and self._is_gone(source, each.get("id")))
        ]
        if len(there) == len(listed):
            return None
        value["data"] = there
        return dumps(value)

    def _is_gone(self, source: Source, model: object) -> bool:
        return (
            isinstance(model, str)
            and self._until.get((source, model), 0.0) > time.monotonic()
        )
