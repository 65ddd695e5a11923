"""The form that OpenAI gives a chat completion: the one judge of answers.

Written from the contract alone, without a look at the code that repairs answers, and
independent of it: this room imports nothing of the package, so that a mistake there
cannot repeat itself here. Two halves:

* `check_stream`, `check_body`, `check_error_body` are strict: they list every rule of
  the form that the bytes break. An empty list means "OpenAI could have sent this".
* `meaning_of_stream`, `meaning_of_body` are tolerant: they read what a provider meant,
  however carelessly it was written. `lost` compares two such readings.
"""

from .comparison import apart, lost
from .errors import Error
from .finish_reasons import SYNONYMS
from .meaning import Call, Choice, Meaning, meaning_of_body, meaning_of_stream, values
from .request import Request
from .rules import check_body, check_error_body, check_stream, events
from .type_checks import chunk_faults, completion_faults

__all__ = [
    "SYNONYMS",
    "Call",
    "Choice",
    "Error",
    "Meaning",
    "Request",
    "apart",
    "check_body",
    "check_error_body",
    "check_stream",
    "chunk_faults",
    "completion_faults",
    "events",
    "lost",
    "meaning_of_body",
    "meaning_of_stream",
    "values",
]
