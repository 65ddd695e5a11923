from collections.abc import Sequence
from typing import Any, ClassVar

import pytest
from mitmproxy import http
from mitmproxy.addonmanager import Loader
from mitmproxy.test import taddons

from llm_normalize.exchange.answer.flow_list import annotate, is_shown, show_anew
from proxies import chat_flow


class Dumper:
    def load(self, loader: Loader) -> None:
        loader.add_option("flow_detail", int, 1, "")
        loader.add_option("save_stream_file", str, "", "")
        loader.add_option("scripts", Sequence[str], ["addon/normalize.py"], "")


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        ({}, False),
        ({"flow_detail": 2}, False),
        ({"flow_detail": 3}, True),
        ({"save_stream_file": "flows"}, True),
        ({"scripts": ["addon/normalize.py", "mine.py"]}, True),
    ],
)
def test_in_mitmdump_only_who_asks_for_it_can_look_at_a_flow(
    options: dict[str, Any], shown: bool
) -> None:
    with taddons.context(Dumper()) as context:
        context.configure(Dumper(), **options)
        assert is_shown() is shown
    context.master.event_loop.close()  # mitmproxy 12.0 leaves it open


def test_elsewhere_anybody_can() -> None:
    with taddons.context() as context:
        assert is_shown()
    context.master.event_loop.close()


MARKS = (":star:", ":mag:")


def test_a_note_is_one_line_and_no_longer_than_a_list_can_show() -> None:
    made = chat_flow()
    annotate(made, "a\nb" + "x" * 999, ":star:", MARKS)
    assert made.comment.startswith("normalize: a\\nb")
    assert len(made.comment) == 200


def test_a_note_of_ours_gives_way_and_one_of_the_users_stays() -> None:
    made = chat_flow()
    annotate(made, "old", ":star:", MARKS)
    annotate(made, "new", ":mag:", MARKS)
    assert (made.comment, made.marked) == ("normalize: new", ":mag:")
    annotate(made, "", "", MARKS)
    assert (made.comment, made.marked) == ("", "")
    made.comment, made.marked = "mine", ":zap:"
    annotate(made, "new", ":mag:", MARKS)
    assert (made.comment, made.marked) == ("mine", ":zap:")


def test_whoever_lists_flows_learns_that_there_is_more() -> None:
    class View:
        name = "view"
        reported: ClassVar[list[Any]] = []

        def update(self, flows: list[http.HTTPFlow]) -> None:
            self.reported.append(flows)

    made = chat_flow()
    with taddons.context() as context:
        show_anew(made)  # nobody lists them
        context.master.addons.add(View())
        show_anew(made)
    assert View.reported == [[made]]
    context.master.event_loop.close()
