"""The fuzzer: bytes that become an answer, repaired and held to the promises."""

from workshop.fuzz.cases import LONGEST, Case, add_fixes
from workshop.fuzz.checks import check
from workshop.fuzz.inputs import inputs, seeds
from workshop.fuzz.mutator import Mutator
from workshop.fuzz.shrink import shrink

__all__ = [
    "LONGEST",
    "Case",
    "Mutator",
    "add_fixes",
    "check",
    "inputs",
    "seeds",
    "shrink",
]
