from llm_normalize.records.statistics import Stats


def test_names_are_cut_and_escaped() -> None:
    stats = Stats()
    stats.add("a\n", "m" * 1000, {})
    _, (host, model, *_) = stats.rows()
    assert (host, len(model)) == (r"a\n", 200)
