"""Bars over time as SVG to stand in a page: shapes and texts alone, with titles as tooltips.

The page's style sheet gives the colours, so that they follow the colour scheme.
"""

import itertools
import math
import unicodedata
import xml.etree.ElementTree as ET
from collections.abc import Callable, Sequence

type Series = Sequence[tuple[str, Sequence[float]]]
"""Names, each with a value for each label."""
type Words = Callable[[float], str]
"""What stands for a value in a tooltip, and on an axis."""

_WIDTH = 960
_MARGIN = 12
_LETTER = 7.2  # what one takes at most, of the size that the style sheet says
_GAP = 10  # between a label and what it names
_LINE = 16  # of text
_TIMES = 8  # that stand below bars
_LEAST = 12  # bars that there is room for
_TICKS = 6  # marks of a linear axis
_PLOT = 230  # how high bars over time are


def stacked(name: str, labels: Sequence[str], series: Series, words_of: Words) -> str:
    """Return bars over time, each of several parts."""
    ticks = _ticks(max(map(sum, zip(*(values for _, values in series), strict=True))))
    left = _MARGIN + max(_length(words_of(each)) for each in ticks) + 2 * _GAP
    bottom = _MARGIN + _PLOT
    drawing = _Drawing(name, bottom + 3 * _LINE + _GAP)
    scale = _PLOT / ticks[-1]
    for each in ticks:
        y = bottom - each * scale
        drawing.line(left, y, _WIDTH - _MARGIN, y, "guide" if each else "axis")
        drawing.text(left - _GAP, y + 4, words_of(each), "left")
    slot = (_WIDTH - _MARGIN - left) / max(_LEAST, len(labels))
    for at, label in enumerate(labels):
        x = left + slot * (at + 0.5)
        if at % max(1, -(-len(labels) // _TIMES)) == 0:
            half = _length(label) / 2
            inside = min(max(x, half), _WIDTH - half)
            drawing.text(inside, bottom + _LINE + 2, label, "below")
        y = bottom
        for number, (title, values) in enumerate(series):
            height = values[at] * scale
            if height:
                y -= height
                words = f"{title}, {label}: {words_of(values[at])}"
                width = 0.8 * slot
                place = {"x": x - width / 2, "y": y, "width": width, "height": height}
                drawing.bar(number, words, **place)
    drawing.legend(left, bottom + 3 * _LINE, [title for title, _ in series])
    return drawing.done()


# -- scales --------------------------------------------------------------------------


def _ticks(most: float) -> list[int]:
    """Return 0, and multiples of 1, 2, 5, 10 and so on up to *most* and no further."""
    steps = (digit * 10**power for power in itertools.count() for digit in (1, 2, 5))
    step = next(each for each in steps if each * _TICKS >= most)
    return [step * at for at in range(max(1, math.ceil(most / step)) + 1)]


def _length(text: str) -> float:
    """How long *text* is, roughly: each system has letters of its own."""
    wide = sum(unicodedata.east_asian_width(each) in "WF" for each in text)
    return _LETTER * (len(text) + wide)


# -- drawing -------------------------------------------------------------------------


class _Drawing:
    """An SVG of that height, at first empty."""

    def __init__(self, name: str, height: float) -> None:
        self._root = ET.Element(
            "svg",
            {
                "xmlns": "http://www.w3.org/2000/svg",
                "viewBox": f"0 0 {_WIDTH} {_figure(height)}",
                "role": "img",
                "aria-label": name,
            },
        )

    def bar(self, colour: int, title: str, **places: float) -> None:
        """Draw a bar in one of the chart's colours, with *title* as its tooltip."""
        bar = self._add("rect", f"mark color-{colour}", places)
        ET.SubElement(bar, "title").text = title

    def line(self, x: float, y: float, x_end: float, y_end: float, kind: str) -> None:
        """Draw a straight line."""
        path = self._add("path", kind, {})
        path.set("d", f"M{_figure(x)} {_figure(y)}L{_figure(x_end)} {_figure(y_end)}")

    def text(self, x: float, y: float, words: str, kind: str) -> None:
        """Write *words*."""
        self._add("text", kind, {"x": x, "y": y}).text = words

    def legend(self, x: float, y: float, titles: Sequence[str]) -> None:
        """Say which colour is whose."""
        for number, title in enumerate(titles):
            size = {"width": 13, "height": 13, "rx": 2}
            self._add("rect", f"color-{number}", {"x": x, "y": y - 11, **size})
            self.text(x + 19, y, title, "legend")
            x += 19 + _length(title) * 13 / 12 + 3 * _GAP

    def done(self) -> str:
        """All that was drawn; ElementTree escapes the words."""
        return ET.tostring(self._root, encoding="unicode")

    def _add(self, kind: str, of: str, places: dict[str, float]) -> ET.Element:
        figures = {name: _figure(value) for name, value in places.items()}
        return ET.SubElement(self._root, kind, {"class": of, **figures})


def _figure(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
