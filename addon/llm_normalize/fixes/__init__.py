"""All fixes, in the order in which they act on an event.

This is the only place that justifies the order; a fix knows nothing of the others.

1. Framing comes first: an event that is not framed as data cannot be read. Data loses the
   field names of a nested stream before its strings get their escapes, gets its own field
   name, and is joined into one line before it is split; an event name marks an error
   before it is dropped. An event that is still not understood becomes an error if it is
   plain words, else a bare newline.
2. Shape: choices with an index and a delta, which all later fixes expect, and no error
   among them. A message is recorded, to be compared with the next one, before it becomes
   chunks. Usage is moved to the top level, and its counts are read, before a chunk
   without choices is judged.
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

from ..native_fixes import NATIVE_FIXES
from ..repair.declaration import Declaration, declared
from ..repair.fix import Fix

_ORDER = """
# the answer itself
framing.answer_pending framing.content_type_wrong
# framing
framing.bom_sent framing.line_end_cr framing.data_doubled framing.data_unescaped
framing.data_name_missing framing.error_by_field_name framing.data_lines_several
framing.data_space_missing framing.data_comment framing.data_glued
framing.blank_line_escaped framing.error_by_event_name framing.data_null
framing.field_not_data framing.comment_sent framing.done_misspelled
framing.blank_line_missing framing.error_as_words framing.data_unreadable
# shape
shape.choices_enveloped shape.choices_flat shape.choices_missing shape.delta_list
shape.element_null errors.error_with_choices shape.choice_split
shape.choice_index_missing shape.choice_text shape.message_in_stream
shape.body_in_stream shape.message_missing shape.delta_missing usage.usage_in_choice
usage.usage_elsewhere usage.usage_mistyped usage.usage_empty shape.choices_empty
# envelope
envelope.id_missing envelope.object_wrong envelope.created_not_seconds
envelope.created_missing envelope.model_mapped envelope.model_missing
envelope.envelope_changing envelope.service_tier_unknown
envelope.system_fingerprint_not_text
# deltas and messages
delta.role_null delta.role_wrong delta.role_repeated delta.role_missing
delta.field_hollow tool_calls.tool_call_custom_hollow tool_calls.tool_calls_null
delta.content_parts delta.content_not_text delta.content_cumulative
optional.think_as_text optional.tool_call_as_text delta.reasoning_renamed
delta.reasoning_cumulative delta.reasoning_null
# one thing a chunk
finish.finish_key_missing finish.finish_empty finish.finish_error finish.finish_synonym
finish.finish_with_delta tool_calls.tool_call_flat tool_calls.tool_call_id_number
tool_calls.tool_call_arguments_object tool_calls.function_call_doubled
tool_calls.function_call_unasked delta.reasoning_with_content delta.content_with_calls
tool_calls.tool_call_in_parts tool_calls.tool_call_index_missing
tool_calls.tool_call_name_late tool_calls.tool_call_name_wrapped
tool_calls.tool_call_index_wrong tool_calls.tool_call_id_repeated
tool_calls.tool_call_repeated tool_calls.tool_call_head_repeated
tool_calls.tool_call_arguments_blank tool_calls.tool_call_arguments_repeated
delta.content_null tool_calls.tool_call_id_missing tool_calls.tool_call_head_incomplete
tool_calls.tool_call_function_missing tool_calls.tool_call_whole
tool_calls.function_call_repeated finish.finish_stop_with_calls
# usage
usage.usage_partial usage.usage_figure_null
delta.logprobs_incomplete delta.annotation_foreign
# what a repair leaves behind
shape.field_null shape.field_unknown delta.content_missing shape.event_empty
# by the machine
errors.event_lost shape.choice_after_finish finish.finish_early finish.finish_repeated
finish.finish_missing finish.finish_without_call finish.finish_call_cut
tool_calls.tool_call_arguments_missing usage.usage_every_chunk usage.usage_with_choices
usage.usage_unasked usage.usage_early usage.usage_repeated framing.done_missing
framing.done_repeated
# bodies and errors
shape.stream_in_body usage.usage_missing errors.error_status errors.error_unwrapped
errors.error_fields errors.context_overflow_unnamed
"""
"""A line that begins with # names a group; the words are modules."""

EVERY_FIX: tuple[type[Fix], ...] = declared(__name__, _ORDER)

FIXES = tuple(fix for fix in EVERY_FIX if not fix.optional)
"""The fixes that are on unless `normalize_skip` names them."""

DECLARED: dict[str, type[Declaration]] = {
    fix.name: fix for fix in (*FIXES, *NATIVE_FIXES)
}
"""These, and those of the other protocols, by name."""
