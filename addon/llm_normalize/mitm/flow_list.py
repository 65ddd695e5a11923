"""What mitmweb and the console show of a flow in their list."""

import asyncio
from collections.abc import Sequence

from mitmproxy import addonmanager, ctx, hooks, http

from ..text.network_address import address
from ..text.printable import brief

_BODIES = 3
"""`flow_detail` with which mitmdump prints bodies (mitmproxy/addons/dumper.py)."""

_SOON = 0.1  # seconds
_ANYWHERE = ("", "0.0.0.0", "::")  # noqa: S104 - names of it, nothing listens
_NOTE = "normalize: "
_OURS = __name__.partition(".")[0]
_HOOKS = ("requestheaders", "request", "responseheaders", "response", "error")
"""Those that get a flow: who keeps it may look at it later."""


def is_shown() -> bool:
    """Tell whether anybody can look at the metadata of a flow that is over.

    In mitmdump, only a file of flows, its own printing of bodies (with the content view)
    or another addon can.
    """
    options = ctx.options
    return (
        ctx.master.addons.get("dumper") is None
        or bool(options.save_stream_file)
        or options.flow_detail >= _BODIES
        or any(map(_is_others, addonmanager.traverse(ctx.master.addons.chain)))
    )


def is_stored() -> bool:
    """Tell whether anybody can look at the body of a flow that is over, or at its size."""
    options = ctx.options
    return is_shown() or options.flow_detail > 0 or bool(options.hardump)


def _is_others(addon: object) -> bool:
    """Tell whether *addon*, or a script, gets flows and is neither ours nor mitmproxy's."""
    origins = [each.__module__.partition(".")[0] for each in type(addon).__mro__]
    if _OURS in origins or origins[0] == "mitmproxy":
        return False
    return any(callable(getattr(addon, name, None)) for name in _HOOKS)


def is_web() -> bool:
    """Tell whether this is mitmweb, and no program in a terminal."""
    return "web_port" in ctx.options.keys()  # noqa: SIM118 - no mapping


def web_page() -> str:
    """The address of mitmweb, without the token that lets one in; empty elsewhere."""
    options = ctx.options
    if not (is_web() and options.web_port):
        return ""
    host = options.web_host if options.web_host not in _ANYWHERE else "127.0.0.1"
    return f"http://{address(host, options.web_port)}/"


def annotate(flow: http.HTTPFlow, text: str, mark: str, marks: Sequence[str]) -> None:
    """Annotate *flow* in the list of flows, unless the user has done so.

    Args:
        flow: The flow; a replayed one may have a note of ours.
        text: The note, maybe empty.
        mark: The sign, maybe none.
        marks: Signs that are ours.
    """
    if not flow.comment or flow.comment.startswith(_NOTE):
        flow.comment = text and brief(_NOTE + text)
    if not flow.marked or flow.marked in marks:
        flow.marked = mark


def leave_out(flow: http.HTTPFlow) -> None:
    """Take *flow* out of the list in mitmweb and the console, once it is over.

    A flow that is removed before is killed.
    """
    if ctx.master.addons.get("view") is None:
        return
    loop = asyncio.get_running_loop()

    def remove() -> None:
        if flow.live:
            loop.call_later(_SOON, remove)
        else:
            ctx.master.commands.call("view.flows.remove", [flow])

    loop.call_soon(remove)


def show_anew(flow: http.HTTPFlow) -> None:
    """Let mitmweb and the console reload *flow*: there is more of it."""
    if ctx.master.addons.get("view") is not None:
        ctx.master.addons.trigger(hooks.UpdateHook([flow]))
