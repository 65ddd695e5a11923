from typing import Any

import pytest

from llm_normalize.protocols.messages import count_tokens


def count(content: Any, **more: Any) -> int:
    found = count_tokens(
        {"model": "m", "messages": [{"role": "user", "content": content}], **more}
    )
    assert found.keys() == {"input_tokens"}
    tokens: int = found["input_tokens"]
    return tokens


EMPTY = count("")
TEXT = "The quick brown fox jumps over the lazy dog. " * 100
IMAGE = {"type": "base64", "media_type": "image/png", "data": "a" * 999_999}


def test_prose_has_a_token_for_four_characters_or_a_little_more() -> None:
    assert 900 < count(TEXT) - EMPTY < 1400


def test_a_script_with_more_bytes_a_character_has_more_tokens() -> None:
    assert count("漢" * 100) > 2 * count("a" * 100)


def test_what_no_model_reads_does_not_count() -> None:
    block = {"type": "text", "text": "a"}
    more = {"cache_control": {"type": "ephemeral"}, "signature": TEXT}
    assert count([block | more], metadata={"user_id": TEXT}) == count([block])


@pytest.mark.parametrize(
    ("block", "tokens"),
    [
        ({"type": "image", "source": IMAGE}, 1600),
        ({"type": "image", "source": {"type": "url", "url": "https://a.test"}}, 1600),
        ({"type": "document", "source": IMAGE}, 1600 * 16),
        (
            {"type": "document", "source": {"type": "url", "url": "https://a.test"}},
            1600,
        ),
    ],
)
def test_attachments_count_by_their_size(block: Any, tokens: int) -> None:
    assert tokens <= count([block]) - EMPTY < tokens + 5


def test_a_document_of_text_counts_as_text() -> None:
    source = {"type": "text", "media_type": "text/plain", "data": TEXT}
    assert 1000 < count([{"type": "document", "source": source}]) < 1500


def test_a_lone_surrogate_counts() -> None:
    assert count("\ud800" * 100) > EMPTY


@pytest.mark.parametrize("body", [{}, {"messages": []}, {"messages": None}])
def test_there_is_a_count_for_anything(body: Any) -> None:
    assert count_tokens(body)["input_tokens"] >= 1
