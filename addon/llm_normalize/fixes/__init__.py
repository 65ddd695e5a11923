"""All fixes, in the order in which they act on an event.

The order is argued here and nowhere else; a fix knows nothing of its neighbours.

1. Framing comes first: what is not framed as data cannot be read. Among these fixes the
   order does not matter, each looks at other bytes of a block.
2. The envelope, which nothing else looks at. Then roles, null content and null calls:
   what follows asks whether a delta says anything, so what says nothing has to be gone.
3. The finish reason leaves its delta before a tool call is split, so that the order
   comes out as head, arguments, finish. A fragment needs its index before it can be
   told whether it opens a call, and loses a repeated head before a head is split.
4. A finish reason is checked against the calls once all of its chunk's calls are known.
5. What rides on other repairs comes last: null fields, then events left empty.
6. Bodies and errors have fixes of their own; the ending's fixes act by name.
"""

from ..fix import Fix
from .blank_line_missing import BlankLineMissing
from .bom_sent import BomSent
from .comment_sent import CommentSent
from .content_null import ContentNull
from .data_lines_several import DataLinesSeveral
from .data_space_missing import DataSpaceMissing
from .done_missing import DoneMissing
from .done_repeated import DoneRepeated
from .envelope_changing import EnvelopeChanging
from .error_fields import ErrorFields
from .error_unwrapped import ErrorUnwrapped
from .event_empty import EventEmpty
from .field_not_data import FieldNotData
from .field_null import FieldNull
from .finish_missing import FinishMissing
from .finish_repeated import FinishRepeated
from .finish_stop_with_calls import FinishStopWithCalls
from .finish_with_delta import FinishWithDelta
from .line_end_cr import LineEndCr
from .role_missing import RoleMissing
from .role_null import RoleNull
from .role_repeated import RoleRepeated
from .tool_call_head_incomplete import ToolCallHeadIncomplete
from .tool_call_head_repeated import ToolCallHeadRepeated
from .tool_call_index_missing import ToolCallIndexMissing
from .tool_call_index_wrong import ToolCallIndexWrong
from .tool_call_whole import ToolCallWhole
from .tool_calls_null import ToolCallsNull
from .usage_early import UsageEarly
from .usage_every_chunk import UsageEveryChunk
from .usage_missing import UsageMissing
from .usage_repeated import UsageRepeated
from .usage_unasked import UsageUnasked
from .usage_with_choices import UsageWithChoices

FIXES: tuple[type[Fix], ...] = (
    # framing
    BomSent,
    LineEndCr,
    DataLinesSeveral,
    DataSpaceMissing,
    FieldNotData,
    CommentSent,
    BlankLineMissing,
    # envelope
    EnvelopeChanging,
    # deltas and messages
    RoleNull,
    RoleRepeated,
    RoleMissing,
    ToolCallsNull,
    ContentNull,
    # one thing a chunk
    FinishWithDelta,
    ToolCallIndexMissing,
    ToolCallIndexWrong,
    ToolCallHeadRepeated,
    ToolCallHeadIncomplete,
    ToolCallWhole,
    FinishStopWithCalls,
    # what a repair leaves behind
    FieldNull,
    EventEmpty,
    # by the ending
    FinishRepeated,
    FinishMissing,
    UsageEveryChunk,
    UsageWithChoices,
    UsageUnasked,
    UsageEarly,
    UsageRepeated,
    DoneMissing,
    DoneRepeated,
    # answers in one piece
    UsageMissing,
    ErrorUnwrapped,
    ErrorFields,
)
