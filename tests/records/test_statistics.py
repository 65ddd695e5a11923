from llm_normalize.records.statistics import Stats

HEAD = ["host", "model", "responses", "repaired", "fix", "events"]


def test_hosts_and_models_are_distinguished_and_sorted() -> None:
    stats = Stats()
    stats.add("b.test", "m", {"content-null": 1})
    stats.add("a.test", "n", {"content-null": 2})
    stats.add("a.test", "m", {})
    assert list(stats.rows()) == [
        HEAD,
        ["a.test", "m", "1", "0", "", ""],
        ["a.test", "n", "1", "1", "content-null", "2"],
        ["b.test", "m", "1", "1", "content-null", "1"],
    ]


def test_names_are_cut_and_escaped() -> None:
    stats = Stats()
    stats.add("a\n", "m" * 1000, {})
    _, (host, model, *_) = stats.rows()
    assert (host, len(model)) == (r"a\n", 200)
