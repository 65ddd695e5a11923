from collections.abc import Sequence
from types import ModuleType
from typing import Any, ClassVar

import pytest
from mitmproxy import http
from mitmproxy.addonmanager import Loader
from mitmproxy.addons.stickycookie import StickyCookie
from mitmproxy.test import taddons

from llm_normalize.addon import Normalize
from llm_normalize.mitm.flow_list import annotate, is_shown, is_stored, show_anew
from proxies import chat_flow


class Dumper:
    __module__ = "mitmproxy.addons.dumper"

    def load(self, loader: Loader) -> None:
        loader.add_option("flow_detail", int, 1, "")
        loader.add_option("save_stream_file", str, "", "")
        loader.add_option("hardump", str, "", "")
        loader.add_option("scripts", Sequence[str], ["addon/normalize.py"], "")


@pytest.mark.parametrize(
    ("options", "shown", "stored"),
    [
        ({}, False, True),
        ({"flow_detail": 2}, False, True),
        ({"flow_detail": 3}, True, True),
        ({"flow_detail": 0}, False, False),
        ({"flow_detail": 0, "hardump": "flows.har"}, False, True),
        ({"flow_detail": 0, "save_stream_file": "flows"}, True, True),
        (
            {"flow_detail": 0, "scripts": ["addon/normalize.py", "mine.py"]},
            False,
            False,
        ),
    ],
)
def test_in_mitmdump_only_who_asks_for_it_can_look_at_a_flow(
    options: dict[str, Any], shown: bool, stored: bool
) -> None:
    with taddons.context(Dumper()) as context:
        context.configure(Dumper(), **options)
        assert (is_shown(), is_stored()) == (shown, stored)
    context.master.event_loop.close()  # mitmproxy 12.0 leaves it open


def _script(code: str) -> ModuleType:
    made = ModuleType("mine")
    exec(code, vars(made))
    return made


class Mine(StickyCookie):
    def request(self, flow: http.HTTPFlow) -> None:
        """Keep the flow, for instance."""


@pytest.mark.parametrize(
    ("addon", "can"),
    [
        (Mine(), True),
        (_script("def response(flow): ..."), True),
        (_script("from mitmproxy import log as response"), False),
        (_script("import os; addons = []"), False),
        (Normalize(), False),
        (StickyCookie(), False),
    ],
    ids=[
        "an addon",
        "a script with a hook",
        "an import",
        "a script without",
        "ours",
        "mitmproxy's",
    ],
)
def test_another_addon_can_look_at_a_flow(addon: object, can: bool) -> None:
    with taddons.context(Dumper()) as context:
        context.options.update(flow_detail=0)
        context.master.addons.add(addon)
        assert (is_shown(), is_stored()) == (can, can)
    context.master.event_loop.close()


MARKS = (":star:", ":mag:")


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
