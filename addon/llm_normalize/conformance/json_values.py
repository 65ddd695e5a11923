"""JSON as the judge reads it: strict for rules, tolerant for what a provider meant."""

import json


def _whole_number(literal: str) -> int:
    """Read an integer literal; beyond what Python converts, its head will do."""
    return int(literal[:4000])


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")


_STRICT = json.JSONDecoder(parse_int=_whole_number, parse_constant=_no_constant)
# With raw control characters in strings: a line end in a text is a part of it.
TOLERANT = json.JSONDecoder(parse_int=_whole_number, strict=False)


def load(text: str) -> object:
    """Decode one strict JSON value or raise ValueError."""
    try:
        return _STRICT.decode(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def as_dict(value: object) -> dict[str, object]:
    """Return *value* if it is an object; an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def as_list(value: object) -> list[object]:
    """Return *value* if it is a list; an empty one for anything else."""
    return value if isinstance(value, list) else []


def as_str(value: object) -> str:
    """Return *value* if it is a string; an empty one for anything else."""
    return value if isinstance(value, str) else ""


def as_int(value: object) -> int | None:
    """Return *value* if it is an integer; None for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def equal_json(one: str, other: str) -> bool:
    """Say whether two texts are JSON of the same value."""
    try:
        return bool(TOLERANT.decode(one) == TOLERANT.decode(other))
    except (ValueError, RecursionError):
        return False
