"""Charts as SVG to stand in a page: no script, no style and no address of their own.

pygal draws them. What it adds for its own JavaScript and for other sites is taken out
again, and its tooltips become titles, which a browser shows by itself. The page's style
sheet gives the colours, so that they follow the colour scheme.
"""

import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Sequence
from typing import Any

import pygal
import pygal.etree
import pygal.style
from markupsafe import Markup

Series = Sequence[tuple[str, Sequence[float]]]
"""Names, each with a value for each label."""

pygal.etree.etree.to_etree()  # lxml, where it is installed, makes trees of another kind
_FONT = "system-ui, sans-serif"
_STYLE = pygal.style.Style(
    font_family=_FONT,
    label_font_size=12,
    major_label_font_size=12,
    legend_font_size=13,
    value_font_size=12,
    no_data_font_size=14,
)
_WIDTH = 960
_TIMES = 8  # that stand below bars
_LEAST = 12  # bars that there is room for
_FEW = 10  # marks of an axis
_KEPT = {"g", "path", "rect", "circle", "text"}
_DANGEROUS = ("on", "href", "{http://www.w3.org/1999/xlink}")


def dots(
    name: str, columns: Sequence[str], rows: Series, told: Callable[[float], str]
) -> Markup:
    """Return a grid of dots, the area of each its value."""
    chart = _made(
        pygal.Dot,
        rows,
        height=100 + 34 * len(rows),
        show_legend=False,
        show_x_guides=True,
        x_label_rotation=35,
        value_formatter=lambda value: told(value * value),
    )
    chart.x_labels = list(columns)
    for title, values in rows:  # the radius is what pygal sets
        chart.add(title, [None if not each else each**0.5 for each in values])
    return _drawn(chart, name, [title for title, _ in rows])


def stacked(
    name: str, labels: Sequence[str], series: Series, told: Callable[[float], str]
) -> Markup:
    """Return bars over time, each of several parts."""
    step = max(1, -(-len(labels) // _TIMES))
    highest = max(map(sum, zip(*(values for _, values in series), strict=True)))
    chart = _made(
        pygal.StackedBar,
        series,
        height=300,
        value_formatter=told,
        show_minor_x_labels=False,
        x_labels_major_every=step,
        truncate_label=-1,
        y_labels=list(range(int(highest) + 1)) if highest < _FEW else None,
        max_scale=_FEW,
    )
    room = [None] * max(0, _LEAST - len(labels))  # or a few bars would be giants
    chart.x_labels = [*labels, *("" for _ in room)]
    for title, values in series:
        chart.add(title, [*values, *room])
    return _drawn(chart, name, [title for title, _ in series])


def bars(
    name: str, labels: Sequence[str], series: Series, told: Callable[[float], str]
) -> Markup:
    """Return horizontal bars, a group for each label, on a logarithmic scale."""
    marks = _marks([each for _, row in series for each in row])
    chart = _made(
        pygal.HorizontalBar,
        series,
        height=110 + 46 * len(labels),
        value_formatter=told,
        logarithmic=True,
        range=(marks[0], marks[-1]),
        zero=marks[0],
        y_labels=[{"value": at, "label": _rounded(told(at))} for at in marks],
        truncate_label=-1,
        margin_right=36,
    )
    chart.x_labels = list(reversed(labels))  # the first is the lowest
    for title, row in series:
        chart.add(title, list(reversed(row)))
    return _drawn(chart, name, [title for title, _ in series])


def _marks(values: Sequence[float]) -> list[float]:
    """Return 1, 2, 5, 10 and so on, from below the least of *values* to the largest."""
    steps = [digit * 10.0**power for power in range(-2, 17) for digit in (1, 2, 5)]
    least = max(at for at, step in enumerate(steps) if step < min(values))
    most = min(at for at, step in enumerate(steps) if step >= max(values))
    marks = steps[least : most + 1]
    step = -(-len(marks) // _FEW)
    return list(dict.fromkeys([*marks[::step], marks[-1]]))


def _rounded(told: str) -> str:
    return re.sub(r"\.0+(?= )", "", told)


def _made(kind: Any, series: Series, **more: Any) -> Any:
    settings: dict[str, Any] = {
        "style": _STYLE,
        "css": [],
        "js": [],
        "width": _WIDTH,
        "margin": 12,
        "no_prefix": True,
        "disable_xml_declaration": True,
        "legend_at_bottom": True,
        "legend_at_bottom_columns": max(1, min(len(series), 5)),
        "legend_box_size": 13,
        "show_y_guides": True,
        "truncate_legend": -1,
        "print_values": False,
        "no_data_text": "nothing to show",
    }
    return kind(**(settings | more))


def _drawn(chart: Any, name: str, titles: Sequence[str]) -> Markup:
    chart.add_xml_filter(lambda root: _plain(root, name, titles))
    return Markup(chart.render(is_unicode=True))  # noqa: S704 - ElementTree escaped it


def _plain(root: ET.Element, name: str, titles: Sequence[str]) -> ET.Element:
    """Leave shapes and texts alone of what pygal drew, and titles for its tooltips."""
    for series in root.iter():
        classes = (series.get("class") or "").split()
        if "series" in classes:
            number = int(classes[1].rpartition("-")[2])
            _title_shapes(series, titles[number])
    _prune(root)
    for each in root.iter():
        for key in list(each.attrib):
            if key == "id" or key.startswith(_DANGEROUS):
                del each.attrib[key]
    root.set("role", "img")
    root.set("aria-label", name)
    return root


def _title_shapes(series: ET.Element, title: str) -> None:
    for shape in series.iter():
        told = {each.get("class"): each.text or "" for each in shape.findall("desc")}
        if "value" in told:
            label = told.get("x_label")
            words = f"{title}, {label}" if label else title
            ET.SubElement(shape, "desc").text = f"{words}: {told['value']}"


def _prune(node: ET.Element) -> None:
    for child in list(node):
        classes = (child.get("class") or "").split()
        if child.tag == "desc" and not classes:
            child.tag = "title"  # of our own
        elif child.tag not in _KEPT or "tooltip-overlay" in classes:
            node.remove(child)
        else:
            _prune(child)
