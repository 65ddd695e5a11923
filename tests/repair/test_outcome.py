from llm_normalize.repair.outcome import EventRecord


def test_a_step_is_changed_when_a_fix_made_other_bytes() -> None:
    assert EventRecord(0, b"a", [b"b"], ["x"]).changed
    assert EventRecord(0, b"a", [], ["x"]).changed  # dropped
    assert EventRecord(0, None, [b"a"], ["x"]).changed  # added
