import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from llm_normalize.capture.folder import Capture, write
from llm_normalize.chat.state.asked import Asked
from llm_normalize.fixes import FIXES
from llm_normalize.repair.fix import DONE, chunk, wire

ID = "chatcmpl-5b0d6c1f2a7e4b93"
CAME = wire(
    [
        chunk({"role": "assistant", "content": ""}, id=ID),
        chunk({"role": None, "content": "The kettle sings"}, id=ID),
        chunk({}, finish="stop", id=ID),
        DONE,
    ]
)
CAPTURE = Capture(
    CAME,
    Asked(stream=True, tools=True, model="acme/Brook 8B", id="flow", time=7),
    "api.acme.test",
    "2026-11-22",
)


def test_folder_holds_what_was_received_what_was_sent_and_what_it_is(
    tmp_path: Path,
) -> None:
    made = write(tmp_path / "new", CAPTURE, FIXES)
    assert made.folder == tmp_path / "new" / "api.acme.test-brook-8b-stream"
    assert (made.fixes, made.was_altered) == ({"role-null": 1}, False)
    response = (made.folder / "response.sse").read_bytes()
    assert len(response) == len(CAME)
    assert b"The kettle sings" in response
    assert ID.encode() not in response
    expected = (made.folder / "expected.sse").read_bytes()
    assert expected == response.replace(b'"role":null,', b"")
    assert tomllib.loads((made.folder / "about.toml").read_text()) == {
        "shape": "api.acme.test, acme/Brook 8B",
        "words": "as they were sent",
        "date": tomllib.loads("d = 2026-11-22")["d"],
        "fixes": ["role-null"],
        "asked": {"stream": True, "tools": True, "model": "acme/Brook 8B"},
    }


def test_words_go_if_that_is_wanted(tmp_path: Path) -> None:
    made = write(tmp_path, CAPTURE, FIXES, fill=True)
    for path in made.folder.iterdir():
        assert b"kettle" not in path.read_bytes()
    assert 'words = "filler"' in (made.folder / "about.toml").read_text()


def test_who_asked_is_in_no_name(tmp_path: Path) -> None:
    asked = replace(CAPTURE.asked, model="ft:gpt-4o:acme:secret:x")
    host = "acme-corp.openai.azure.com"
    made = write(tmp_path, replace(CAPTURE, asked=asked, host=host), FIXES, fill=True)
    about = (made.folder / "about.toml").read_text()
    assert "acme" not in about + made.folder.name
    assert 'shape = "openai.azure.com, ft:gpt-4o:' in about
    other = write(tmp_path, replace(CAPTURE, host="llm.acme.test"), FIXES, fill=True)
    assert other.folder.name.startswith("host-")


def test_place_that_a_link_leads_nowhere_from_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    (tmp_path / "nowhere").touch()
    with pytest.raises(OSError, match="link"):
        write(tmp_path / "link", CAPTURE, FIXES)


def test_each_capture_has_a_folder_of_its_own(tmp_path: Path) -> None:
    names = [write(tmp_path, CAPTURE, FIXES).folder.name for _ in range(3)]
    first = "api.acme.test-brook-8b-stream"
    assert names == [first, f"{first}-2", f"{first}-3"]


def test_body_is_json_and_tells_its_status(tmp_path: Path) -> None:
    body = replace(
        CAPTURE,
        received=b'{"detail":"Busy"}',
        asked=Asked(),
        status=503,
        is_stream=False,
    )
    made = write(tmp_path, body, FIXES)
    assert made.folder.name == "api.acme.test-body-503"
    assert (made.folder / "expected.json").exists()
    about = tomllib.loads((made.folder / "about.toml").read_text())
    assert (about["status"], about["asked"]) == (503, {"stream": False})


@pytest.mark.parametrize(
    "name",
    ["../../etc/passwd", "", "..", "a" * 999, "con\0\x7f\n", 'q"\\', "\ud83d", "🐈"],
)
def test_names_are_safe_and_told_as_they_are(tmp_path: Path, name: str) -> None:
    asked = replace(CAPTURE.asked, model=name)
    made = write(tmp_path / "in", replace(CAPTURE, asked=asked, host=name), FIXES)
    assert made.folder.parent == tmp_path / "in"
    assert len(made.folder.name) <= 60
    about = tomllib.loads((made.folder / "about.toml").read_text(encoding="utf-8"))
    if name and name.isprintable():
        assert about["asked"]["model"] == name
