"""All fixes, in the order in which they act on an event.

A module has the fixes of one field, such as `role`, or of one subject, such as `lines`.
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

from importlib import import_module

from ..native_fixes import NATIVE_FIXES
from ..repair.declaration import Declaration, declared_in
from ..repair.fix import Fix

_MODULES = """
answer_head lines data data_glued done error_events error_bodies choices choice delta
message body_or_stream fields envelope role content cumulative reasoning logprobs
annotations finish_word finish_place finish_of_calls tool_call tool_call_index
tool_call_id tool_call_name tool_call_head tool_call_arguments function_call
usage_figures usage_place written_text
"""
_ORDER = """
# the answer itself
answer-pending content-type-wrong
# framing
bom-sent line-end-cr data-doubled data-unescaped data-name-missing error-by-field-name
data-lines-several data-space-missing data-comment data-glued blank-line-escaped
error-by-event-name data-null field-not-data comment-sent done-misspelled
blank-line-missing error-as-words data-unreadable
# shape
choices-enveloped choices-flat choices-missing delta-list element-null
error-with-choices choice-split choice-index-missing choice-text message-in-stream
body-in-stream message-missing delta-missing usage-in-choice usage-elsewhere
usage-mistyped usage-empty choices-empty
# envelope
id-missing object-wrong created-not-seconds created-missing model-mapped model-missing
envelope-changing service-tier-unknown system-fingerprint-not-text
# deltas and messages
role-null role-wrong role-repeated role-missing field-hollow tool-call-custom-hollow
tool-calls-null content-parts content-not-text content-cumulative think-as-text
tool-call-as-text reasoning-renamed reasoning-cumulative reasoning-null
# one thing a chunk
finish-key-missing finish-empty finish-error finish-synonym finish-with-delta
tool-call-flat tool-call-id-number tool-call-arguments-object function-call-doubled
function-call-unasked reasoning-with-content content-with-calls tool-call-in-parts
tool-call-index-missing tool-call-name-late tool-call-name-wrapped tool-call-index-wrong
tool-call-id-repeated tool-call-repeated tool-call-head-repeated
tool-call-arguments-blank tool-call-arguments-repeated content-null tool-call-id-missing
tool-call-head-incomplete tool-call-function-missing tool-call-whole
function-call-repeated finish-stop-with-calls
# usage
usage-partial usage-figure-null logprobs-incomplete annotation-foreign
# what a repair leaves behind
field-null field-unknown content-missing event-empty
# by the machine
event-lost choice-after-finish finish-early finish-repeated finish-missing
finish-without-call finish-call-cut tool-call-arguments-missing usage-every-chunk
usage-with-choices usage-unasked usage-early usage-repeated done-missing done-repeated
# bodies and errors
stream-in-body usage-missing error-status error-unwrapped error-fields
context-overflow-unnamed
"""
"""A line that begins with # names a group."""

_BY_NAME = {
    fix.name: fix
    for module in _MODULES.split()
    for fix in declared_in(import_module(f".{module}", __name__))
}

EVERY_FIX: tuple[type[Fix], ...] = tuple(
    _BY_NAME[name]
    for line in _ORDER.splitlines()
    if not line.startswith("#")
    for name in line.split()
)

FIXES = tuple(fix for fix in EVERY_FIX if not fix.optional)
"""The fixes that are on unless `normalize_skip` names them."""

DECLARED: dict[str, type[Declaration]] = {
    fix.name: fix for fix in (*FIXES, *NATIVE_FIXES)
}
"""These, and those of the other protocols, by name."""
