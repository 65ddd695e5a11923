"""What a provider sends, and the same conversation as OpenAI would have sent it.

A family is one quirk. Each module holds one group of them.
"""

from dataclasses import replace

from clients.families import (
    calls,
    content,
    envelope,
    errors,
    finishes,
    framing,
    kinds,
    nulls,
    openai,
    usages,
)
from clients.families.shapes import Answer, Family, Json

__all__ = ["FAMILIES", "GROUPS", "Answer", "Family", "Json"]

GROUPS = {
    "nulls": nulls,
    "envelope": envelope,
    "finish": finishes,
    "tool calls": calls,
    "content, reasoning": content,
    "usage": usages,
    "errors": errors,
    "framing": framing,
    "wrong kind": kinds,
    "OpenAI's own": openai,
}

_ALL = [
    replace(family, group=group)
    for group, module in GROUPS.items()
    for family in module.families()
]
FAMILIES = {family.name: family for family in _ALL}
if len(FAMILIES) < len(_ALL):
    raise ValueError("two families have one name")
