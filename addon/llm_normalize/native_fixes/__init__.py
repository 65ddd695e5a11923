"""The fixes of answers in a client's own protocol, Responses or Messages.

They are declarations. The reader of the protocol (`protocols/PROTOCOL/native.py`) repairs
under their names: what must follow what is one thing, and known in one place.
"""

from ..repair.declaration import declared
from .native_fix import NativeFix

_FRAMING = """
framing.event_name_missing framing.event_type_missing framing.done_foreign
framing.answer_not_streamed
"""
_MESSAGES = """
messages.message_start_missing messages.message_start_repeated
messages.message_fields_missing messages.message_id_foreign
messages.message_usage_missing messages.stop_reason_foreign
messages.message_delta_missing messages.message_stop_missing
messages.message_stop_repeated messages.message_error_foreign
messages.block_start_missing messages.block_start_repeated messages.block_stop_missing
messages.block_stop_repeated messages.block_index_wrong messages.block_interleaved
messages.block_fields_missing messages.text_in_start messages.delta_of_other_kind
messages.tool_input_in_start messages.tool_id_foreign messages.thinking_unsigned
"""
_RESPONSES = """
response.response_start_missing response.response_fields_missing
response.response_id_changing response.response_usage_missing
response.response_error_foreign response.response_failed_missing
events.event_name_foreign events.event_fields_missing events.sequence_number_wrong
events.output_index_wrong items.item_id_changing items.item_added_missing
items.item_added_whole items.item_done_missing items.item_fields_missing
items.item_text_bare text.part_added_missing text.part_done_missing text.part_type_wrong
text.part_fields_missing text.text_delta_missing text.text_done_missing
text.text_done_empty calls.call_id_missing calls.call_id_changing
calls.call_name_missing calls.call_name_late calls.call_name_foreign
calls.call_type_wrong calls.call_arguments_object
calls.call_arguments_spelled response.completed_output_empty response.completed_call_cut
"""

NATIVE_FIXES: tuple[type[NativeFix], ...] = (
    *declared(__name__, _FRAMING),
    *declared(__name__, _MESSAGES),
    *declared(f"{__name__}.responses", _RESPONSES),
)
