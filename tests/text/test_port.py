import argparse

import pytest

from llm_normalize.client import env
from llm_normalize.client import exec as exec_
from llm_normalize.desktop.service import command as service
from llm_normalize.setup import status
from llm_normalize.text.network_address import port


@pytest.mark.parametrize("text", ["1", "8080", "65535"])
def test_port_is_read(text: str) -> None:
    assert port(text) == int(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "0",
        "-1",
        "65536",
        "99999",
        "x",
        "1.5",
        "8_0",
        "\u0661",
        "1" * 5000,
        "000065535999",
    ],
)
def test_what_is_no_port_gets_a_sentence(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="a number from 1 to 65535"):
        port(text)


@pytest.mark.parametrize("given", [["-p", "0"], ["-p", "-1"], ["--port", "99999"]])
@pytest.mark.parametrize(
    ("main", "more"),
    [
        (env.main, []),
        (exec_.main, ["--", "true"]),
        (status.main, []),
        (service.main, ["status"]),
    ],
)
def test_a_wrong_port_is_a_wrong_call(
    main: object, more: list[str], given: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert callable(main)
    words = [*more, *given] if more == ["status"] else [*given, *more]
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert f"{given[1]}: a port is a number from 1 to 65535\n" in said
