from llm_normalize.chat.chunks.chunk import Chunk
from llm_normalize.chat.merged_choices import merge_choice, name_text


def test_a_text_in_place_of_a_delta_joins_the_delta() -> None:
    first: Chunk = {"delta": {"role": "assistant", "content": "H"}}
    merge_choice(first, {"delta": "i"})
    assert first == {"delta": {"role": "assistant", "content": "Hi"}}


def test_a_text_of_its_own_joins_the_message_beside_it() -> None:
    one: Chunk = {"text": "i"}
    name_text(one, {"message": {"content": "H"}}, repeats=False)
    assert one == {"message": {"content": "i"}}
