"""The fuzzer: bytes that become an answer, repaired and held to the promises."""
