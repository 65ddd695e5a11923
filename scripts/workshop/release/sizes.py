"""Code lines of each part of the project, and budgets that only go down."""

import ast
import io
import sys
import tokenize
from collections.abc import Iterator

from workshop import ROOT

BUDGETS = {"addon": 45_334, "scripts": 7_474, "tests": 51_655}
"""Code lines: without blanks, comments and docstrings."""
MODULES = 424
"""Modules of the addon."""
_NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


def code_lines(text: str) -> int:
    """Count the code lines of a module."""
    lines = set[int]()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _NO_CODE:
            lines |= {*range(token.start[0], token.end[0] + 1)}
    return len(lines - {*_docstrings(text)})


def _docstrings(text: str) -> Iterator[int]:
    for node in ast.walk(ast.parse(text)):
        value = node.value if isinstance(node, ast.Expr) else None
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            yield from range(value.lineno, (value.end_lineno or 0) + 1)


def main() -> int:
    """Print the sizes; return 1 if a part is larger than its budget."""
    is_over = False
    for part, budget in BUDGETS.items():
        paths = [*(ROOT / part).rglob("*.py")]
        size = sum(code_lines(path.read_text(encoding="utf-8")) for path in paths)
        print(f"{part}: {size} code lines, budget {budget}; {len(paths)} modules")
        too_many = part == "addon" and len(paths) > MODULES
        is_over = is_over or size > budget or too_many
    return int(is_over)


if __name__ == "__main__":
    sys.exit(main())
