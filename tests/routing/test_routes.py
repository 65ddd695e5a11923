import pytest

from llm_normalize.routing.routes import Routes, Target


@pytest.mark.parametrize(
    ("text", "asked", "path"),
    [
        ("https://a.test/v1", "/v1/chat/completions", "/v1/chat/completions"),
        ("https://a.test/api/v2/", "/v1/models?x=1", "/api/v2/models?x=1"),
        ("https://a.test", "/v1/models", "/models"),
        ("https://a.test/v1", "/v1", "/v1"),
        ("https://a.test/v1", "/v1beta/x", "/v1/v1beta/x"),
        ("https://a.test/v1", "/chat/completions", "/v1/chat/completions"),
    ],
)
def test_path_goes_below_the_base(text: str, asked: str, path: str) -> None:
    assert Target.parse(text).path(asked) == path


def test_target_is_reported_as_it_was_given() -> None:
    for text in (
        "https://a.test/v1",
        "http://[::1]:8080",
        "workers-ai:https://a.test/x",
    ):
        assert str(Target.parse(text)) == text
    assert Target.parse("http://a.test").port == 80
    assert Target.parse("https://a.test").netloc == "a.test"
    assert Target.parse("https://a.test:444").netloc == "a.test:444"
    assert Target.parse("workers-ai:https://a.test").is_workers_ai


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a.test", "invalid URL"),
        ("ftp://a.test", "invalid URL"),
        ("https://", "invalid URL"),
        ("https://a.test:x", "invalid URL"),
        ("https://user:key@a.test", "normalize_keys"),
        ("https://a.test/?x", "more than a base path"),
        ("https://a.test/ü", "characters"),
        ("https://a.test/a b", "characters"),
    ],
)
def test_what_is_no_target_is_refused(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        Target.parse(text)


@pytest.mark.parametrize(
    "url",
    [
        "https://user:nvapi-key@a.test",
        "https://nvapi-key@a.test:99999",
        "https://a.test/v1?key=nvapi-key",
        "https://a.test/v1#nvapi-key",
        "nvapi://key:nvapi-key@a.test",
    ],
)
def test_key_in_a_target_is_refused_and_not_quoted(url: str) -> None:
    with pytest.raises(ValueError, match=r"a\.test") as caught:
        Routes.parse([f"b.test={url}"])
    assert "nvapi-key" not in str(caught.value)


@pytest.mark.parametrize(
    ("texts", "why"),
    [
        (["a.test"], "'a.test': expected host=https"),
        (["a b=https://c.test"], "'a b=https://c.test': expected `host`"),
        (["a.test=c.test"], "invalid URL"),
        (["a.test=https://a.test/v1"], "is a loop"),
        (["a.test=https://b.test", "b.test=https://c.test"], "is a loop"),
        (["a.test/m=https://b.test", "b.test/m=https://c.test"], "is a loop"),
        (["a.test/m=https://b.test", "b.test=https://b.test"], "is a loop"),
        (["a.test/=https://b.test"], "'a.test/=https://b.test': expected a host"),
        (["a.test/v1=https://b.test"], "expected a host or host/model-pattern, not"),
        (["https://a.test/m=https://b.test"], "expected a host or host/model-pattern"),
    ],
)
def test_what_is_no_route_is_refused(texts: list[str], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        Routes.parse(texts)


def test_route_is_for_the_models_that_its_pattern_means() -> None:
    routes = Routes.parse(
        [
            "a.test/deepseek-*=https://b.test/v1",
            "a.test/org/m-1=https://c.test/v1",
            "a.test=https://d.test",
        ]
    )

    def host(*models: str) -> str | None:
        found = routes.target("a.test", 443, *models)
        return None if found is None else found.host

    assert host("deepseek-chat") == "b.test"
    assert host("org/m-1") == "c.test"
    assert host("other", "org/m-1") == "c.test"  # what is asked for, and what is sent
    assert host("org/m-12") == host() == "d.test"
    assert routes.by_model("a.test", 443)
    assert not routes.by_model("b.test", 443)
    assert routes.has("a.test", 443)
    assert not Routes.parse(["a.test/m=https://b.test"]).target("a.test", 443)
    assert routes.names("a.test", 1) == [
        ("deepseek-*", "b.test"),
        ("org/m-1", "c.test"),
    ]
    assert str(routes.routes[0]) == "a.test/deepseek-*=https://b.test/v1"


@pytest.mark.parametrize(
    "text",
    [
        "a.test=workers-ai:https://a.test/accounts/1",
        "*.test=workers-ai:https://a.test/accounts/1",
        "a.test/m*=https://a.test/v1",
        "a.test/m*=workers-ai:https://a.test/x",
    ],
)
def test_route_from_its_own_host_in_another_form_is_no_loop(text: str) -> None:
    (route,) = Routes.parse([text]).routes
    assert route.stays
    assert len(Routes.parse([text, "a.test/n=https://b.example"]).routes) == 2
