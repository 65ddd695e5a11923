"""The body of an answer in the protocol of its client."""

import logging
from http import HTTPStatus

from ...chat.errors.errors import phrase
from ...protocols.answer_stream import error_in, object_in
from ...protocols.protocol import JsonObject, UntranslatableError
from ...repair.engine.translated_output import TRANSLATED
from ...repair.outcome import EventRecord
from ...wire.json_text import dumps
from ..request.translated_request import TranslatedRequest

logger = logging.getLogger(__name__)

_NONE = "The provider's answer is not a chat completion."
_FAILED = "The proxy failed at translating the answer."


def translate_body(
    record: EventRecord, status: int, translated: TranslatedRequest, label: str
) -> None:
    """Put the translation of a body in its place. Never raises.

    Args:
        record: The body, repaired; it gets a status of its own if it is no answer, though
            the provider's status says so.
        status: The status that the provider sent.
        translated: Its request.
        label: Names the answer in log lines.
    """
    value = object_in(record.after[-1])
    status, words = record.status or status, _NONE
    is_good = status < HTTPStatus.BAD_REQUEST
    made: JsonObject | None = None
    try:
        if is_good and isinstance(value.get("choices"), list):
            words = _FAILED
            made = translated.answer.body(value)
    except UntranslatableError as error:
        words = str(error)
    except Exception:
        logger.exception("%s: it cannot be translated", label)
    if made is None:
        if is_good:
            status = record.status = int(HTTPStatus.BAD_GATEWAY)
        else:
            words = phrase(status)
        made = translated.protocol.error_body(status, error_in(value, words))
    record.after[:] = [dumps(made)]
    record.fixed(TRANSLATED)
