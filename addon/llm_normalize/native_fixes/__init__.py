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
responses.response_start_missing responses.response_fields_missing
responses.response_id_changing responses.response_usage_missing
responses.response_error_foreign responses.response_failed_missing
responses.event_name_foreign responses.event_fields_missing
responses.sequence_number_wrong responses.output_index_wrong responses.item_id_changing
responses.item_added_missing responses.item_added_whole responses.item_done_missing
responses.item_fields_missing responses.item_text_bare responses.part_added_missing
responses.part_done_missing responses.part_type_wrong responses.part_fields_missing
responses.text_delta_missing responses.text_done_missing responses.text_done_empty
responses.call_id_missing responses.call_id_changing responses.call_name_missing
responses.call_name_late responses.call_name_foreign responses.call_type_wrong
responses.call_arguments_object
responses.call_arguments_spelled responses.completed_output_empty
"""

NATIVE_FIXES: tuple[type[NativeFix], ...] = (
    *declared(__name__, _FRAMING),
    *declared(__name__, _MESSAGES),
    *declared(__name__, _RESPONSES),
)
