"""What the content views have in common: they show what the addon recorded of an answer."""

from collections.abc import Callable

from mitmproxy import contentviews, http

from ..records.flow_metadata import ENDS, AnswerMetadata, read_metadata
from ..text.printable import brief

BLANK = " "
"""A blank line: mitmweb shows none where there is nothing at all."""

type Refresh = Callable[[http.HTTPFlow], None]
"""Lets a flow that is on its way tell all that there is by now."""


class AnswerView(contentviews.Contentview):
    """A view of an answer.

    Args:
        refresh: Called with a flow before it is shown.
    """

    syntax_highlight = "none"

    def __init__(self, refresh: Refresh = lambda _: None) -> None:
        self._refresh = refresh

    def record(self, metadata: contentviews.Metadata) -> AnswerMetadata | None:
        """The addon's record of a response; None if it is none of its answers."""
        flow = metadata.flow
        if (
            not isinstance(flow, http.HTTPFlow)
            or metadata.http_message is not flow.response
        ):
            return None
        self._refresh(flow)
        return read_metadata(flow.metadata, is_live=bool(flow.live))


def broken_off(record: AnswerMetadata) -> str:
    """The side that broke an answer off, in words; empty for a whole answer."""
    words = "" if record["end"] == "error" else ENDS.get(record["end"], "")
    return brief(record.get("why") or words) if words else ""
