"""Charts as SVG to stand in a page: shapes and texts alone, with titles as tooltips.

The page's style sheet gives the colours, so that they follow the colour scheme.
"""

import math
import re
import unicodedata
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator, Sequence

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
_FEW = 10  # marks of a logarithmic one
_PLOT = 230  # how high bars over time are
_BAR, _BAR_GAP, _GROUP_GAP = 11, 2, 9
_ROW = 34  # of a grid of dots
_COLUMN = 72  # at most
_SLANT = 35  # degrees
_COS, _SIN = math.cos(math.radians(_SLANT)), math.sin(math.radians(_SLANT))


def dots(name: str, columns: Sequence[str], rows: Series, words_of: Words) -> str:
    """A grid of dots, the area of each its value."""
    left = _MARGIN + max(_length(title) for title, _ in rows) + 2 * _GAP
    # A slanted name below its column ends right of it, inside the drawing.
    room = [_WIDTH - _MARGIN - _COS * _length(each) - left for each in columns]
    step = min(_COLUMN, *(each / (at + 0.5) for at, each in enumerate(room)))
    bottom = _MARGIN + _ROW * len(rows)
    drawing = _Drawing(name, bottom + 2 * _LINE + _SIN * max(map(_length, columns)))
    across = [left + step * (at + 0.5) for at in range(len(columns))]
    for x, title in zip(across, columns, strict=True):
        drawing.line(x, _MARGIN, x, bottom, "guide")
        drawing.text(x - 4, bottom + _LINE, title, "slanted")
    most = max(max(values) for _, values in rows) or 1
    largest = 0.46 * min(_ROW, step)
    for at, (title, values) in enumerate(rows):
        y = _MARGIN + _ROW * (at + 0.5)
        drawing.line(left, y, left + step * len(columns), y, "guide")
        drawing.text(left - _GAP, y + 4, title, "left")
        for x, column, value in zip(across, columns, values, strict=True):
            if value:
                radius = largest * math.sqrt(value / most)
                words = f"{title}, {column}: {words_of(value)}"
                drawing.shape("circle", 0, words, cx=x, cy=y, r=radius)
    return drawing.done()


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
                drawing.shape("rect", number, words, **place)
    drawing.legend(left, bottom + 3 * _LINE, [title for title, _ in series])
    return drawing.done()


def bars(name: str, labels: Sequence[str], series: Series, words_of: Words) -> str:
    """Return horizontal bars, a group for each label, on a logarithmic scale."""
    marks = _marks([each for _, row in series for each in row])
    names = [re.sub(r"\.0+(?= )", "", words_of(each)) for each in marks]
    left = _MARGIN + max(map(_length, labels)) + _GAP
    right = _WIDTH - _MARGIN - _length(names[-1]) / 2
    group = len(series) * (_BAR + _BAR_GAP) + _GROUP_GAP
    bottom = _MARGIN + group * len(labels)
    drawing = _Drawing(name, bottom + 3 * _LINE + _GAP)
    scale = (right - left) / math.log(marks[-1] / marks[0])

    def place(value: float) -> float:
        return left + scale * math.log(value / marks[0])

    for at, mark in enumerate(marks):
        x = place(mark)
        drawing.line(x, _MARGIN, x, bottom, "guide" if at else "axis")
        drawing.text(x, bottom + _LINE + 2, names[at], "below")
    for at, label in enumerate(labels):
        top = _MARGIN + group * at + _GROUP_GAP / 2
        middle = top + (group - _GROUP_GAP) / 2
        drawing.text(left - _GAP, middle + 3, label, "left")
        for number, (title, values) in enumerate(series):
            words = f"{title}, {label}: {words_of(values[at])}"
            drawing.shape(
                "rect",
                number,
                words,
                x=left,
                y=top + number * (_BAR + _BAR_GAP),
                width=place(values[at]) - left,
                height=_BAR,
            )
    drawing.legend(left, bottom + 3 * _LINE, [title for title, _ in series])
    return drawing.done()


# -- scales --------------------------------------------------------------------------


def _ticks(most: float) -> list[int]:
    """Return 0, and multiples of 1, 2, 5, 10 and so on up to *most* and no further."""
    step = next(each for each in _steps(0) if each * _TICKS >= most)
    return [int(step) * at for at in range(max(1, math.ceil(most / step)) + 1)]


def _marks(values: Sequence[float]) -> list[float]:
    """Return 1, 2, 5, 10 and so on, from below the least of *values* to the largest."""
    steps = list(_steps(-2))
    least = max(at for at, step in enumerate(steps) if step < min(values))
    most = min(at for at, step in enumerate(steps) if step >= max(values))
    marks = steps[least : most + 1]
    step = -(-len(marks) // _FEW)
    return list(dict.fromkeys([*marks[::step], marks[-1]]))


def _steps(power: int) -> Iterator[float]:
    """Yield 1, 2, 5 of each power of ten, from *power* on."""
    for each in range(power, 17):
        yield from (digit * 10.0**each for digit in (1, 2, 5))


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

    def shape(self, kind: str, colour: int, title: str, **places: float) -> None:
        """Draw a shape in one of the chart's colours, with *title* as its tooltip."""
        shape = self._add(kind, f"mark color-{colour}", places)
        ET.SubElement(shape, "title").text = title

    def line(self, x: float, y: float, x_end: float, y_end: float, kind: str) -> None:
        """Draw a straight line."""
        path = self._add("path", kind, {})
        path.set("d", f"M{_figure(x)} {_figure(y)}L{_figure(x_end)} {_figure(y_end)}")

    def text(self, x: float, y: float, words: str, kind: str) -> None:
        """Write *words*; a slanted one leans around its begin."""
        text = self._add("text", kind, {"x": x, "y": y})
        text.text = words
        if kind == "slanted":
            text.set("transform", f"rotate({_SLANT} {_figure(x)} {_figure(y)})")

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
