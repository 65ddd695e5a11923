from llm_normalize.chat.chunks.chunk import Chunk
from llm_normalize.chat.merged_choices import name_text


def test_a_text_of_its_own_joins_the_message_beside_it() -> None:
    one: Chunk = {"text": "i"}
    name_text(one, {"message": {"content": "H"}}, repeats=False)
    assert one == {"message": {"content": "i"}}
