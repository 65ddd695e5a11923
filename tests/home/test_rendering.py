"""The pages as text; tests/end_to_end/test_home.py looks at them in a browser."""

from dataclasses import replace
from html.parser import HTMLParser

import pytest

from home.test_status import FACTS
from llm_normalize.home.markdown_pages import Client
from llm_normalize.home.rendering import Visit, client, html
from llm_normalize.home.status import Facts, Row

HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>{{ 7*7 }}"
VISIT = Visit("http", "127.0.0.1:8080", False, "curl/8", "NONCE", True)
CLIENTS = [
    Client("Python", "python", ("python",), "Text."),
    Client("curl", "curl", ("curl/",), "Text."),
]


class Tags(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag not in ("meta", "br", "wbr", "link"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def tags(page: str) -> list[tuple[str, dict[str, str | None]]]:
    parser = Tags(page)
    assert parser.open == []
    return parser.seen


def test_page_tells_what_there_is() -> None:
    page = html(VISIT, FACTS, CLIENTS)
    for words in (
        "version 1.2.3",
        "It repairs answers",
        "<strong>m</strong>",
        "2 of 3 answers",
        "role-null <b>5</b>",
        "And 1 more",
        "api.test: 2 times",
        "old.test, sent on to https://new.test/v1",
        "*.many.test",
        "AA:<wbr>BB",
        'data-probe="check.invalid/token"',
        "http://127.0.0.1:8080/proxy.pac",
    ):
        assert words in page
    assert 'It seems that this is one: <a href="/clients/curl">' in page
    assert page.index("/clients/curl") < page.index("/clients/python")


@pytest.mark.parametrize(
    "facts",
    [
        FACTS,
        replace(FACTS, rows=[], more=0, refused={}, routes=[], ca_sha256=""),
        replace(FACTS, mode="observe", opens="all", closed_probe=True),
        replace(FACTS, hosts=[f"{n}.test" for n in range(99)], refused={"a.test": 1}),
    ],
)
@pytest.mark.parametrize("is_local", [True, False])
def test_markup_is_whole(facts: Facts, is_local: bool) -> None:
    visit = replace(VISIT, is_local=is_local)
    for clients in (CLIENTS, []):
        seen = tags(html(visit, facts, clients))
        names = [name for name, _ in seen]
        assert names.count("h1") == names.count("main") == 1
        assert all(
            each.get("nonce") == "NONCE"
            for name, each in seen
            if name in ("script", "style")
        )
        ids = [each["id"] for _, each in seen if "id" in each]
        labels = {
            each["aria-labelledby"] for _, each in seen if "aria-labelledby" in each
        }
        assert len(ids) == len(set(ids))
        assert labels <= set(ids)


def test_hostile_names_are_text() -> None:
    rows = [Row(HOSTILE, HOSTILE, 1, 1, {HOSTILE: 1})]
    facts = replace(
        FACTS,
        rows=rows,
        refused={HOSTILE: 1},
        hosts=[HOSTILE],
        routes=[(HOSTILE, HOSTILE)],
        confdir=HOSTILE,
    )
    visit = replace(VISIT, agent=HOSTILE)
    page = html(visit, facts, CLIENTS)
    harmless = tags(html(visit, replace(FACTS, hosts=["x"]), CLIENTS))
    assert [name for name, _ in tags(page)] == [name for name, _ in harmless]
    assert page.count("&lt;script&gt;alert(1)") == 12
    assert "{{ 7*7 }}" in page
    assert "<script>alert" not in page


def test_page_of_a_client() -> None:
    body = """Set `a<b` and **c** [there](https://d.test/?x="y").

- [curl](#curl), [gone](#gone), [bad](javascript:alert(1))

```
<script>alert(1)</script>
```

| one | two |
| --- | --- |
| x | `y` |
"""
    chosen = Client("<b>Py</b>", "py", (), body)
    page = client(VISIT, chosen, [chosen, *CLIENTS])
    seen = tags(page)
    assert [each["href"] for name, each in seen if name == "a"] == [
        "/",
        'https://d.test/?x="y"',
        "/clients/curl",
        "/clients/curl",
        "/clients/python",
    ]
    for words in (
        "&lt;b&gt;Py&lt;/b&gt;",
        "<code>a&lt;b</code>",
        "<strong>c</strong>",
        "<code>&lt;script&gt;alert(1)&lt;/script&gt;</code></pre>",
        '<th scope="col">one</th>',
        "<td><code>y</code></td>",
        "gone, bad",
    ):
        assert words in page
