"""All fixes, in the order in which they act on an event.

This is the only place that justifies the order; a fix knows nothing of the others.

1. Framing comes first: an event that is not framed as data cannot be read. Data gets its
   field name, loses the field names of a nested stream, and is joined into one line
   before it is split; an event name marks an error before it is dropped. An event that
   is still not understood becomes an error if it is plain words, else a bare newline.
2. Shape: choices with an index and a delta, which all later fixes expect, and no error
   among them. A message is recorded, to be compared with the next one, before it becomes
   chunks. Usage is moved to the top level before a chunk without choices is judged.
3. The envelope, after irrelevant chunks have been dropped: the values of the first chunk
   apply to all. A time is converted before it counts as missing.
4. Deltas: roles, then empty fields, because later fixes check whether a delta has
   content. Content becomes text before it is compared; optional repairs take calls and
   reasoning out of it. Reasoning is renamed before it is compared, and split from text.
5. The finish reason gets OpenAI's word and leaves its delta before a tool call is split,
   so that the order is head, arguments, finish.
6. A legacy call becomes a tool call before text and reasoning are split from calls.
   A fragment of a tool call gets its form, an index, its name (without wrapping, once it
   is complete) and an event of its own before other fixes decide whether it opens a call.
   Calls are counted as they are sent, including those held for a name; each gets the id
   of its call before repeated calls are recognised by it. Repeated calls are dropped
   before a repeated head loses its id. Arguments are compared after that. Null content
   is valid beside a call, so it is judged after empty calls have been dropped. A head is
   complete before it is split. In streams most of this is one step, at the place of the
   first of these fixes: see `repair/engine/assembled_calls.py`.
7. A finish reason is checked against the calls once all calls of its chunk are known.
8. Usage, then the fixes that act only on changed chunks: null fields, unknown fields,
   openings of which only the role is left, and empty events.
9. Bodies and errors have fixes of their own. What depends on the place of a chunk in its
   stream is decided by the machine (`repair/machine/machine.py`), after all fixes and
   whatever their place here; `repair/engine/body.py` finds the fix of an error's status by its
   name.
"""

from ..repair.fix import Fix
from .delta.annotation_foreign import AnnotationForeign
from .delta.content_cumulative import ContentCumulative
from .delta.content_missing import ContentMissing
from .delta.content_not_text import ContentNotText
from .delta.content_null import ContentNull
from .delta.content_parts import ContentParts
from .delta.content_with_calls import ContentWithCalls
from .delta.field_hollow import FieldHollow
from .delta.logprobs_incomplete import LogprobsIncomplete
from .delta.reasoning_cumulative import ReasoningCumulative
from .delta.reasoning_null import ReasoningNull
from .delta.reasoning_renamed import ReasoningRenamed
from .delta.reasoning_with_content import ReasoningWithContent
from .delta.role_missing import RoleMissing
from .delta.role_null import RoleNull
from .delta.role_repeated import RoleRepeated
from .delta.role_wrong import RoleWrong
from .envelope.created_missing import CreatedMissing
from .envelope.created_not_seconds import CreatedNotSeconds
from .envelope.envelope_changing import EnvelopeChanging
from .envelope.id_missing import IdMissing
from .envelope.model_mapped import ModelMapped
from .envelope.model_missing import ModelMissing
from .envelope.object_wrong import ObjectWrong
from .envelope.service_tier_unknown import ServiceTierUnknown
from .envelope.system_fingerprint_not_text import SystemFingerprintNotText
from .errors.context_overflow_unnamed import ContextOverflowUnnamed
from .errors.error_fields import ErrorFields
from .errors.error_status import ErrorStatus
from .errors.error_unwrapped import ErrorUnwrapped
from .errors.error_with_choices import ErrorWithChoices
from .errors.event_lost import EventLost
from .finish.finish_call_cut import FinishCallCut
from .finish.finish_early import FinishEarly
from .finish.finish_empty import FinishEmpty
from .finish.finish_error import FinishError
from .finish.finish_key_missing import FinishKeyMissing
from .finish.finish_missing import FinishMissing
from .finish.finish_repeated import FinishRepeated
from .finish.finish_stop_with_calls import FinishStopWithCalls
from .finish.finish_synonym import FinishSynonym
from .finish.finish_with_delta import FinishWithDelta
from .finish.finish_without_call import FinishWithoutCall
from .framing.answer_pending import AnswerPending
from .framing.blank_line_escaped import BlankLineEscaped
from .framing.blank_line_missing import BlankLineMissing
from .framing.bom_sent import BomSent
from .framing.comment_sent import CommentSent
from .framing.content_type_wrong import ContentTypeWrong
from .framing.data_comment import DataComment
from .framing.data_doubled import DataDoubled
from .framing.data_glued import DataGlued
from .framing.data_lines_several import DataLinesSeveral
from .framing.data_name_missing import DataNameMissing
from .framing.data_null import DataNull
from .framing.data_space_missing import DataSpaceMissing
from .framing.data_unescaped import DataUnescaped
from .framing.data_unreadable import DataUnreadable
from .framing.done_missing import DoneMissing
from .framing.done_misspelled import DoneMisspelled
from .framing.done_repeated import DoneRepeated
from .framing.error_as_words import ErrorAsWords
from .framing.error_by_event_name import ErrorByEventName
from .framing.error_by_field_name import ErrorByFieldName
from .framing.field_not_data import FieldNotData
from .framing.line_end_cr import LineEndCr
from .optional.think_as_text import ThinkAsText
from .optional.tool_call_as_text import ToolCallAsText
from .shape.body_in_stream import BodyInStream
from .shape.choice_after_finish import ChoiceAfterFinish
from .shape.choice_index_missing import ChoiceIndexMissing
from .shape.choice_split import ChoiceSplit
from .shape.choice_text import ChoiceText
from .shape.choices_empty import ChoicesEmpty
from .shape.choices_enveloped import ChoicesEnveloped
from .shape.choices_flat import ChoicesFlat
from .shape.choices_missing import ChoicesMissing
from .shape.delta_list import DeltaList
from .shape.delta_missing import DeltaMissing
from .shape.element_null import ElementNull
from .shape.event_empty import EventEmpty
from .shape.field_null import FieldNull
from .shape.field_unknown import FieldUnknown
from .shape.message_in_stream import MessageInStream
from .shape.message_missing import MessageMissing
from .shape.stream_in_body import StreamInBody
from .tool_calls.function_call_doubled import FunctionCallDoubled
from .tool_calls.function_call_repeated import FunctionCallRepeated
from .tool_calls.function_call_unasked import FunctionCallUnasked
from .tool_calls.tool_call_arguments_blank import ToolCallArgumentsBlank
from .tool_calls.tool_call_arguments_missing import ToolCallArgumentsMissing
from .tool_calls.tool_call_arguments_object import ToolCallArgumentsObject
from .tool_calls.tool_call_arguments_repeated import ToolCallArgumentsRepeated
from .tool_calls.tool_call_custom_hollow import ToolCallCustomHollow
from .tool_calls.tool_call_flat import ToolCallFlat
from .tool_calls.tool_call_function_missing import ToolCallFunctionMissing
from .tool_calls.tool_call_head_incomplete import ToolCallHeadIncomplete
from .tool_calls.tool_call_head_repeated import ToolCallHeadRepeated
from .tool_calls.tool_call_id_missing import ToolCallIdMissing
from .tool_calls.tool_call_id_number import ToolCallIdNumber
from .tool_calls.tool_call_id_repeated import ToolCallIdRepeated
from .tool_calls.tool_call_in_parts import ToolCallInParts
from .tool_calls.tool_call_index_missing import ToolCallIndexMissing
from .tool_calls.tool_call_index_wrong import ToolCallIndexWrong
from .tool_calls.tool_call_name_late import ToolCallNameLate
from .tool_calls.tool_call_name_wrapped import ToolCallNameWrapped
from .tool_calls.tool_call_repeated import ToolCallRepeated
from .tool_calls.tool_call_whole import ToolCallWhole
from .tool_calls.tool_calls_null import ToolCallsNull
from .usage.usage_early import UsageEarly
from .usage.usage_elsewhere import UsageElsewhere
from .usage.usage_empty import UsageEmpty
from .usage.usage_every_chunk import UsageEveryChunk
from .usage.usage_figure_null import UsageFigureNull
from .usage.usage_in_choice import UsageInChoice
from .usage.usage_missing import UsageMissing
from .usage.usage_mistyped import UsageMistyped
from .usage.usage_partial import UsagePartial
from .usage.usage_repeated import UsageRepeated
from .usage.usage_unasked import UsageUnasked
from .usage.usage_with_choices import UsageWithChoices

EVERY_FIX: tuple[type[Fix], ...] = (
    # the answer itself
    AnswerPending,
    ContentTypeWrong,
    # framing
    BomSent,
    LineEndCr,
    DataUnescaped,
    DataNameMissing,
    ErrorByFieldName,
    DataDoubled,
    DataLinesSeveral,
    DataSpaceMissing,
    DataComment,
    DataGlued,
    BlankLineEscaped,
    ErrorByEventName,
    DataNull,
    FieldNotData,
    CommentSent,
    DoneMisspelled,
    BlankLineMissing,
    ErrorAsWords,
    DataUnreadable,
    # shape
    ChoicesEnveloped,
    ChoicesFlat,
    ChoicesMissing,
    DeltaList,
    ElementNull,
    ErrorWithChoices,
    ChoiceSplit,
    ChoiceIndexMissing,
    ChoiceText,
    MessageInStream,
    BodyInStream,
    MessageMissing,
    DeltaMissing,
    UsageInChoice,
    UsageElsewhere,
    UsageEmpty,
    ChoicesEmpty,
    # envelope
    IdMissing,
    ObjectWrong,
    CreatedNotSeconds,
    CreatedMissing,
    ModelMapped,
    ModelMissing,
    EnvelopeChanging,
    ServiceTierUnknown,
    SystemFingerprintNotText,
    # deltas and messages
    RoleNull,
    RoleWrong,
    RoleRepeated,
    RoleMissing,
    FieldHollow,
    ToolCallCustomHollow,
    ToolCallsNull,
    ContentParts,
    ContentNotText,
    ContentCumulative,
    ThinkAsText,
    ToolCallAsText,
    ReasoningRenamed,
    ReasoningCumulative,
    ReasoningNull,
    # one thing a chunk
    FinishKeyMissing,
    FinishEmpty,
    FinishError,
    FinishSynonym,
    FinishWithDelta,
    ToolCallFlat,
    ToolCallIdNumber,
    ToolCallArgumentsObject,
    FunctionCallDoubled,
    FunctionCallUnasked,
    ReasoningWithContent,
    ContentWithCalls,
    ToolCallInParts,
    ToolCallIndexMissing,
    ToolCallNameLate,
    ToolCallNameWrapped,
    ToolCallIndexWrong,
    ToolCallIdRepeated,
    ToolCallRepeated,
    ToolCallHeadRepeated,
    ToolCallArgumentsBlank,
    ToolCallArgumentsRepeated,
    ContentNull,
    ToolCallIdMissing,
    ToolCallHeadIncomplete,
    ToolCallFunctionMissing,
    ToolCallWhole,
    FunctionCallRepeated,
    FinishStopWithCalls,
    # usage
    UsageMistyped,
    UsagePartial,
    UsageFigureNull,
    LogprobsIncomplete,
    AnnotationForeign,
    # what a repair leaves behind
    FieldNull,
    FieldUnknown,
    ContentMissing,
    EventEmpty,
    # by the machine
    EventLost,
    ChoiceAfterFinish,
    FinishEarly,
    FinishRepeated,
    FinishMissing,
    FinishWithoutCall,
    FinishCallCut,
    ToolCallArgumentsMissing,
    UsageEveryChunk,
    UsageWithChoices,
    UsageUnasked,
    UsageEarly,
    UsageRepeated,
    DoneMissing,
    DoneRepeated,
    # bodies and errors
    StreamInBody,
    UsageMissing,
    ErrorStatus,
    ErrorUnwrapped,
    ErrorFields,
    ContextOverflowUnnamed,
)

FIXES = tuple(fix for fix in EVERY_FIX if not fix.optional)
"""The fixes that are on unless `normalize_skip` names them."""

LEFT_ALONE: tuple[tuple[str, str], ...] = (
    (
        "tool call as text in `content` (bare JSON; models' own syntax by default)",
        "an answer may quote such text without calling a tool (`normalize_also`).",
    ),
    (
        "`tool_call_generating: true` with an empty delta",
        "the call itself is never sent, and nothing is made up.",
    ),
    (
        "`</think>` alone in `content`; `<think>` and harmony's markers by default",
        "clients remove it, and an answer may mention the tag (`normalize_also`).",
    ),
    (
        "the first deltas of a host's first stream that repeats all text in each chunk",
        "they have been sent before three of them prove it; one alone may be intended.",
    ),
    (
        "text after a finish reason that was sent",
        "if usage was requested, a finish is sent at once; the text is still sent.",
    ),
    (
        "a `model` that differs from the one asked for",
        "it is usually more exact (`gpt-4-0613`); only placeholders are replaced.",
    ),
    (
        "a name in two parts (`get_`, `weather`), if the request declares no such tool",
        "its end is unknown: the second part is sent as it was received.",
    ),
    (
        "an id that arrives after its call's name",
        "the opening fragment was sent with a generated id; later ids are dropped.",
    ),
    (
        "`system_fingerprint: null`, missing `logprobs`",
        "OpenAI sends such chunks itself.",
    ),
    (
        "keys that OpenAI does not define (`provider`, `citations`, `x_groq`, …)",
        "clients use them, or ignore unknown ones; `normalize_strict` drops them.",
    ),
    (
        "half a value in an event, the rest in the next event or missing",
        "the rest may never arrive: the half becomes a newline, as the log shows.",
    ),
    (
        "a stream without any event (200 and nothing else)",
        "no success is forged, and no error was sent.",
    ),
    (
        "minutes without an event",
        "the provider takes its time; newlines keep the connection (`normalize_keepalive`).",
    ),
    (
        "lines over 64 KiB",
        "they are complete events; clients that limit lines set that limit themselves.",
    ),
    (
        "a model that is only served as a stream, and refuses other requests",
        "the request would have to change; the refusal itself is repaired.",
    ),
    (
        "400 for a function that is DEGRADED",
        "the provider's status stays, though 503 would fit better.",
    ),
    (
        "`usage` that counts each chunk alone instead of the total so far",
        "nothing in the stream distinguishes the two; the last usage counts.",
    ),
)
"""Shapes that stay as they are, and why."""
