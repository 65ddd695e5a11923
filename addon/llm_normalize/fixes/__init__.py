"""All fixes, in the order in which they act on an event.

The order is argued here and nowhere else; a fix knows nothing of its neighbours.

1. Framing comes first: what is not framed as data cannot be read. Data gets its name,
   loses an inner stream's names, and is one line before it is parted; an event's name
   marks an error before it is dropped. What nobody understands after all of this is an
   error if it has words, else nothing.
2. Shape: choices with an index and a delta, which all that follows looks for, and no
   error among them. A message is kept, to be compared with the next, before it becomes
   chunks. Usage stands at the top before a chunk without choices is judged.
3. The envelope, after the chunks that do not count are gone: what the first one says
   holds for all. A time is converted before it is missed.
4. Deltas: roles, then what says nothing, since what follows asks whether a delta says
   anything; content is text before it is compared, optional repairs take out
   of it what is none; reasoning has its name before it is compared, and parted from text.
5. The finish reason, in OpenAI's words, leaves its delta before a tool call is split, so
   that the order comes out as head, arguments, finish.
6. A legacy call is a tool call before text and reasoning are parted from those.
   A fragment of a tool call is alone of its call, and has its form, an index and its
   name, which loses its wrapping once it is complete, before anything can say whether it
   opens a call. Calls are counted as they are sent, those that waited for a name too; each
   gets the id of its call before repeated calls are recognised by it. Those go before a
   repeated head loses its id. Arguments are compared when all of this is gone. Null
   content stays beside a call, so it waits until calls that say nothing
   are gone. A head is complete before it is split.
7. A finish reason is checked against the calls once all of its chunk's calls are known.
8. Figures, then what rides on other repairs: null fields, unknown fields, openings of
   which all of this left the role alone, and events left empty.
9. Bodies and errors have fixes of their own. Those of a stream's ending act at the moments
   that they name, wherever they stand here; `repair/body.py` finds that of an error's
   status by its name.
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
from .shape.choices_flat import ChoicesFlat
from .shape.choices_missing import ChoicesMissing
from .shape.delta_list import DeltaList
from .shape.delta_missing import DeltaMissing
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
    DataNameMissing,
    ErrorByFieldName,
    DataDoubled,
    DataLinesSeveral,
    DataSpaceMissing,
    DataComment,
    DataGlued,
    ErrorByEventName,
    DataNull,
    FieldNotData,
    CommentSent,
    DoneMisspelled,
    BlankLineMissing,
    ErrorAsWords,
    DataUnreadable,
    # shape
    ChoicesFlat,
    ChoicesMissing,
    DeltaList,
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
    ToolCallWhole,
    FunctionCallRepeated,
    FinishStopWithCalls,
    # figures
    UsageMistyped,
    UsagePartial,
    LogprobsIncomplete,
    AnnotationForeign,
    # what a repair leaves behind
    FieldNull,
    FieldUnknown,
    ContentMissing,
    EventEmpty,
    # by the ending
    ChoiceAfterFinish,
    FinishEarly,
    FinishRepeated,
    FinishMissing,
    FinishWithoutCall,
    ToolCallArgumentsMissing,
    UsageEveryChunk,
    UsageWithChoices,
    UsageUnasked,
    UsageEarly,
    UsageRepeated,
    DoneMissing,
    DoneRepeated,
    # answers in one piece
    StreamInBody,
    UsageMissing,
    ErrorStatus,
    ErrorUnwrapped,
    ErrorFields,
    ContextOverflowUnnamed,
)

FIXES = tuple(fix for fix in EVERY_FIX if not fix.optional)
"""Those that are on unless `normalize_skip` names them."""

LEFT_ALONE: tuple[tuple[str, str], ...] = (
    (
        "tool call as text in `content` (bare JSON; the forms of models by default)",
        "an answer may show such text without meaning it (`normalize_also`).",
    ),
    (
        "`tool_call_generating: true` with an empty delta",
        "the call itself never comes, and nothing is made up.",
    ),
    (
        "`</think>` alone in `content`; `<think>` and harmony's marks by default",
        "clients cut it out, and an answer may speak of the tag (`normalize_also`).",
    ),
    (
        "the first texts of a host's first stream that tells all again in each chunk",
        "they have been sent before three of them prove it; one alone could be meant.",
    ),
    (
        "text after a finish reason that was sent",
        "with usage asked for a finish is sent at once; the text is sent all the same.",
    ),
    (
        "a `model` that differs from the one asked for",
        "it is more exact as a rule (`gpt-4-0613`); only placeholders are replaced.",
    ),
    (
        "a name in two parts (`get_`, `weather`), if the request declares no such tool",
        "nobody can tell where it ends: the second part is sent as it was received.",
    ),
    (
        "an id that comes after its call's name",
        "the opening fragment was sent with one that was made up; later ones are dropped.",
    ),
    (
        "`system_fingerprint: null`, missing `logprobs`",
        "OpenAI sends such chunks itself.",
    ),
    (
        "keys that OpenAI does not define (`provider`, `citations`, `x_groq`, …)",
        "clients use them, and skip what they do not know; `normalize_strict` drops them.",
    ),
    (
        "half a value in an event, the rest in the next one or nowhere",
        "nobody can say what a half waits for: it becomes a newline, as the log shows.",
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
        "they are whole events, and a client's limit is its own.",
    ),
    (
        "a model that is only served as a stream, and refuses other requests",
        "the request would have to change; the refusal itself is repaired.",
    ),
    (
        "400 for a function that is DEGRADED",
        "the status stays the provider's, though 503 would be nearer.",
    ),
    (
        "`usage` that counts each chunk alone instead of all so far",
        "nothing in the stream tells the two apart; the last figures count.",
    ),
)
"""Shapes that stay as they are, and why."""
