import json
import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from llm_normalize.capture.redaction import Redaction
from llm_normalize.capture.rerun import repair
from llm_normalize.chat.state.asked import Asked
from llm_normalize.fixes import FIXES
from llm_normalize.repair.fix import calling, chunk, head, rest, wire
from llm_normalize.text.echo import ECHO_KEYS

CAPTURES = sorted(Path(__file__).parents[1].glob("captures/*/*/response.*"))


def filled(data: bytes, *secrets: str) -> bytes:
    out = Redaction(secrets, fill=True).of(data)
    assert len(out) == len(data)
    return out


def cleaned(data: bytes, *secrets: str) -> bytes:
    out = Redaction(secrets).of(data)
    assert len(out) == len(data)
    return out


def event(**value: object) -> bytes:
    return wire([value])


def value_of(data: bytes) -> dict[str, object]:
    read = json.loads(data.decode().removeprefix("data: "))
    assert isinstance(read, dict)
    return read


def fired(path: Path, data: bytes) -> Counter[str]:
    about = path.with_name("about.toml").read_text()
    status = re.search(r"^status = (\d+)", about, re.MULTILINE)
    is_stream = path.suffix == ".sse"
    asked = Asked(stream=is_stream, usage="usage = true" in about, tools=True)
    given = int(status[1]) if status else 200
    return repair(data, asked, FIXES, status=given, is_stream=is_stream).fixes


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: "/".join(path.parts[-3:-1]))
def test_same_fixes_fire_as_often_when_all_words_are_gone(path: Path) -> None:
    data = path.read_bytes()
    assert fired(path, filled(data)) == fired(path, data)
    assert fired(path, cleaned(data)) == fired(path, data)


def test_words_go_and_their_shape_stays() -> None:
    said = "The Kettle sings, naïve: 水 42 \U0001d41a🐈!"
    out = value_of(filled(event(content=said)))["content"]
    assert isinstance(out, str)
    assert re.fullmatch(
        r"[A-Z][a-z]{2} [A-Z][a-z]{5} [a-z]{5}, [a-z]{2}[à-ö][a-z]{2}: [一-丟] \d\d "
        r"[𠀀-𠀏]🐈!",
        out,
    )
    assert not {"Kettle", "sings"} & set(out.split())


def test_equal_names_stay_equal_and_others_do_not_become_so() -> None:
    one, other = "chatcmpl-5b0d6c1f2a7e4b93", "chatcmpl-5b0d6c1f2a7e4b94"
    data = event(id=one) + event(id=one) + event(responseId=other)
    first, second, third, *_ = (
        value_of(each) for each in cleaned(data).split(b"\n\n") if each
    )
    assert first == second
    assert first["id"] != third["responseId"]


def test_who_asked_goes_in_any_case() -> None:
    given = {"user": "alice", "account": "acme_corp_team", "user_id": 123456789012}
    out = value_of(cleaned(event(**given)))
    assert not {*map(str, given.values())} & {*map(str, out.values())}
    assert isinstance(out["user_id"], int)


def test_name_that_stands_elsewhere_goes_there_too() -> None:
    name = "xyz-8f7e6d5c4b3a"
    out = value_of(cleaned(event(request_id=name, message=f"see {name}.")))
    assert out["message"] == f"see {out['request_id']}."
    assert name not in str(out)


def test_owner_of_a_model_goes() -> None:
    redaction = Redaction()
    name = "ft:gpt-4o:acme-corp:secret:abc"
    said = value_of(redaction.of(event(model=name)))["model"]
    assert str(said).startswith("ft:gpt-4o:")
    assert "acme" not in str(said)
    assert redaction.name(name) == said
    assert redaction.name("meta/llama") == "meta/llama"


@pytest.mark.parametrize(
    "text",
    [
        "sk-proj-abcdefghijklmnop1234",
        "nvapi-abcdefghijklmnop1234",
        "Bearer abcdefghijklmnop1234",
        "eyJhbGciOiJIUzI1NiJ9.e30.abc",
        "someone@example.com",
        "own-secret",
    ],
)
def test_keys_go_from_wherever_they_stand(text: str) -> None:
    for data in (
        event(content=f"use {text} now"),
        event(content=f"use\n{text}"),
        f": {text}\n\n".encode(),
    ):
        out = cleaned(data, "own-secret")
        assert text.encode() not in out
        if not data.startswith(b":"):
            assert "use" in str(value_of(out)["content"])


def test_secret_in_another_spelling_goes() -> None:
    out = cleaned(
        rb'{"content":"abc\/d\u0065f","n":100000,"abc":1}', "abc/def", "100000", "n"
    )
    assert out.startswith(b'{"content":')  # no key is renamed
    assert b'"n":100000' in out
    assert b"abc\\/" not in out


def test_keys_under_telling_names_go() -> None:
    out = cleaned(b'{"api_key":"0a1bcdefabcd","link":"https://x?api-key=0a1bffff&x=1"}')
    assert b"0a1b" not in out
    assert b"?api-key=" in out


@pytest.mark.parametrize("key", sorted(ECHO_KEYS))
def test_echo_in_a_message_goes(key: str) -> None:
    said = f"1 error: {{'{key}': {{'content': 'my private prompt'}}}}"
    assert "private" not in cleaned(event(message=said)).decode()
    assert "1 error:" in cleaned(event(message=said)).decode()


@pytest.mark.parametrize("key", sorted(ECHO_KEYS))
def test_what_a_provider_echoes_of_the_request_goes(key: str) -> None:
    error = {"message": "Bad", "detail": [{key: {"content": "my prompt"}}]}
    out = cleaned(event(error=error))
    assert b"my prompt" not in out
    assert b"Bad" in out


def test_text_in_fragments_is_one_text() -> None:
    whole = "abcab" * 12
    parts = [chunk({"content": whole[at : at + 3]}) for at in range(0, 60, 3)]
    out = filled(wire(parts))
    reported = "".join(re.findall(r'"content":"(\w+)"', out.decode()))
    message = filled(event(content=whole))
    assert (
        len(set(re.findall(r"\w{3}", reported))) > 10
    )  # not the same letters each time
    assert len(message) == len(event(content=whole))


def test_arguments_stay_json_over_all_fragments() -> None:
    said = '{"city":"Kö\\"ln\\u0041","n":[10,-2.5e1,true,null],"ok":false}'
    cuts = [said[at : at + 3] for at in range(0, len(said), 3)]
    events = [calling(head())]
    events += [calling(rest(0, each)) for each in cuts]
    out = filled(wire(events)).decode()
    reported = "".join(
        json.loads(f'"{each}"')
        for each in re.findall(r'"arguments":"((?:[^"\\]|\\.)*)"', out)
    )
    read = json.loads(reported)
    assert list(map(type, read.values())) == [str, list, bool]
    assert list(read.values())[1:] == [[11, -11.0, True, None], False]
    assert "city" not in reported
    assert r"\u0041" in reported  # an escape is no word


def test_tags_stay() -> None:
    out = filled(event(content="<think>Hm</think>So")).decode()
    assert re.search(r'"<think>[A-Z][a-z]</think>[A-Z][a-z]"', out)


@pytest.mark.parametrize(
    "data",
    [
        b'data: {"choices":[{"delta":{"content":"my private half',
        b'{"arguments":"print(private) {\'private\': x}"}',
        b'{"arguments":{"private":4711,"code":"private","n":[{"status":"private"}]}}',
        b"{'message': 'private', 'n': 1}",
        b'<p>private</p> {"a":1} private',
        b": private\n\ndata: private\n\n",
        b'{"request_id":"private words 7","trace":"private words"}',
    ],
)
def test_words_go_from_wherever_they_stand(data: bytes) -> None:
    assert b"private" not in filled(data)


@given(st.binary(max_size=80))
@example(b"\\u")
@example(b"\\u004")
def test_any_bytes_keep_their_length(data: bytes) -> None:
    filled(data)
    cleaned(data)


@given(st.text(max_size=40))
def test_any_text_stays_json(text: str) -> None:
    data = json.dumps({"content": text, "arguments": text}).encode()
    out = json.loads(filled(data))
    assert len(out["content"]) == len(text)
