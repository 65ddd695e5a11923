"""When an answer was made, in whatever form a provider says it."""

from datetime import UTC, datetime

from ...wire.json_text import Json, Number


def seconds_in(given: Json) -> float | None:
    """Return the time in *given*, maybe in a smaller unit; None where it is no time."""
    text = given.text if isinstance(given, Number) else given
    if isinstance(text, bool) or not isinstance(text, str | int):
        return None
    try:
        seconds = float(text)
    except ValueError:
        try:
            date = datetime.fromisoformat(str(text))
        except ValueError:
            return None
        seconds = date.replace(tzinfo=date.tzinfo or UTC).timestamp()
    except OverflowError:  # an integer of hundreds of digits
        return None
    return seconds if 0 < seconds < 10**30 else None
