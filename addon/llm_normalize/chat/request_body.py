"""The body of a request, as the object that it has to be to be put into another form."""

from ..wire.json_text import RepeatedKeyError, loads
from .chunks.chunk import Chunk


def read_request(body: bytes) -> Chunk:
    """Return the object in the *body* of a request.

    Raises:
        ValueError: There is none; the message is a sentence for the client.
    """
    try:
        request = loads(body)
    except RepeatedKeyError:
        raise ValueError("The request names a key of an object twice.") from None
    except RecursionError:
        raise ValueError("The request is nested too deeply.") from None
    except ValueError:
        raise ValueError("The request is not valid JSON.") from None
    if not isinstance(request, dict):
        raise ValueError("The request is not a JSON object.")  # noqa: TRY004
    return request
