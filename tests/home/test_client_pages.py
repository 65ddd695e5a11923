"""The pages for clients, and the file that they come from."""

from pathlib import Path

import pytest

from llm_normalize.home.markdown import Block, Span, blocks
from llm_normalize.home.markdown_pages import Client, clients

TEXT = """\
# Clients

Words before the first section.

## VS Code (Copilot & co.)
<!-- agents: Code/, vscode -->

Set **`http.proxy`** to `http://127.0.0.1:8080`,
and see [the page](https://example.test/a_b) or [*this*](#curl).
- one
- two, which
  goes on
Then more.

```sh
## no heading
curl -x http://127.0.0.1:8080 --cacert ~/.mitmproxy/mitmproxy-ca-cert.pem

| no table |
```
| what | value |
| --- | :-: |
| `a\\|b` | **x** |
| c |
After it.

## curl
Its text.
## No page
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "clients.md"
    path.write_text(TEXT, encoding="utf-8")
    return path


@pytest.fixture
def client(path: Path) -> Client:
    return clients("[::1]:9", "/c/conf", path)[0]


def test_a_client_is_known_by_its_user_agent(client: Client) -> None:
    assert client.fits("Mozilla/5.0 VSCODE/1.99")
    assert not client.fits("curl/8")
    assert not client.fits("")


def test_addresses_are_the_real_ones(client: Client) -> None:
    assert "127.0.0.1" not in client.text
    assert "curl -x http://[::1]:9 --cacert /c/conf/mitmproxy-ca" in client.text
    assert "agents" not in client.text


def test_a_folder_with_blanks_is_one_word_in_commands_alone(tmp_path: Path) -> None:
    path = tmp_path / "clients.md"
    lines = ["## A", "", "Add `~/.mitmproxy/x.pem`, or `A=~/.mitmproxy/x.pem`.", ""]
    lines += ["```sh", "cat ~/.mitmproxy/x.pem:/y > ~/.mitmproxy/both.pem", "```"]
    path.write_text("\n".join(lines), encoding="utf-8")
    text = clients("x:1", "/c d", path)[0].text
    assert "Add `/c d/x.pem`, or `A='/c d/x.pem'`." in text
    assert "cat '/c d/x.pem':/y > '/c d/both.pem'" in text
    assert "A=~/.mitmproxy/x.pem" in clients("x:1", "~/.mitmproxy", path)[0].text


def test_blocks(client: Client) -> None:
    paragraph, items, code, table, end = blocks(client.text.splitlines())
    assert paragraph == Block(
        "paragraph",
        [
            [
                [
                    Span("Set "),
                    Span("http.proxy", is_code=True, is_bold=True),
                    Span(" to "),
                    Span("http://[::1]:9", is_code=True),
                    Span(", and see "),
                    Span("the page", href="https://example.test/a_b"),
                    Span(" or "),
                    Span("*this*", href="#curl"),
                    Span("."),
                ]
            ]
        ],
    )
    two = "two, which goes on Then more."  # as Markdown has it: a lazy line
    assert items == Block("list", [[[Span("one")]], [[Span(two)]]])
    assert code.kind == "code"
    assert code.code.startswith("## no heading\ncurl")
    assert code.code.endswith("pem\n\n| no table |")
    assert table == Block(
        "table",
        [
            [[Span("what")], [Span("value")]],
            [[Span("a|b", is_code=True)], [Span("x", is_bold=True)]],
            [[Span("c")]],
        ],
    )
    assert end == Block("paragraph", [[[Span("After it.")]]])


def test_code_without_its_end_goes_to_the_end(tmp_path: Path) -> None:
    path = tmp_path / "clients.md"
    path.write_text("## A\ntext\n```\na\n\nb", encoding="utf-8")
    (found,) = clients("x:1", "/conf", path)
    assert [each.kind for each in blocks(found.text.splitlines())] == [
        "paragraph",
        "code",
    ]
    assert [*blocks(found.text.splitlines())][1].code == "a\n\nb"


# -- the file itself -----------------------------------------------------------------------


def test_no_page_of_the_file_takes_the_place_of_another() -> None:
    found = clients("x:1", "/conf")
    assert len({each.slug for each in found}) == len(found) > 1
    assert all(each.text for each in found)
