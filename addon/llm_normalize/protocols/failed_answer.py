"""What a whole answer says of its failure.

The repair puts an error beside what has been said, or a finish reason that says so. Status
and form are those of an answer, so who reads no further takes it for one.
"""

from .json_values import as_object, objects_in
from .protocol import JsonObject


def failure_in(completion: JsonObject) -> JsonObject | None:
    """Return the error in an answer whose choice has failed."""
    found = [completion, *objects_in(completion.get("choices"))]
    error = next(filter(None, (each.get("error") for each in found)), None)
    return {"message": error} if isinstance(error, str) else as_object(error) or None
