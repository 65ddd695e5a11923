"""Providers by their names, and what a base URL stands for."""

import pytest

from llm_normalize.routing.known_providers import base_of, named, unknown, variable_of

NVIDIA = "https://integrate.api.nvidia.com/v1"


@pytest.mark.parametrize(
    ("given", "base"),
    [
        ("nvidia", NVIDIA),
        ("https://integrate.api.nvidia.com", NVIDIA),
        (f"{NVIDIA}/chat/completions", NVIDIA),
        ("http://127.0.0.1:8000/", "http://127.0.0.1:8000/v1"),
        ("https://llm.example.com/api/v3/", "https://llm.example.com/api/v3"),
        ("ftp://llm.example.com", ""),
        ("https://", ""),
        ("https://llm.example.com:0", ""),
        ("https://llm.example.com:high", ""),
        ("https://key@llm.example.com", ""),
        ("https://llm.example.com/v1?key=1", ""),
        ("nvidai", ""),
    ],
)
def test_name_or_url_stands_for_a_base_url(given: str, base: str) -> None:
    assert named(given) == base


def test_host_alone_has_the_path_that_its_provider_has() -> None:
    assert base_of("integrate.api.nvidia.com") == NVIDIA
    assert base_of("llm.example.com") == "https://llm.example.com/v1"


def test_variable_of_a_key_is_named_where_it_is_known() -> None:
    assert variable_of(NVIDIA) == "NVIDIA_API_KEY"
    assert variable_of("https://llm.example.com/v1") == ""


def test_what_is_no_provider_is_told_without_quoting_a_url() -> None:
    assert unknown("nvidai") == "unknown provider nvidai: did you mean nvidia?"
    assert "doctor --list" in unknown("zzzzzz")
    assert "key" not in unknown("https://key@llm.example.com")
