import sys

import pytest

from _machine import Machine, Outcome
from machines import Recorded


def test_a_command_gets_its_input_and_tells_how_it_ended() -> None:
    program = (
        "import sys; print(sys.stdin.read()); print('no', file=sys.stderr); exit(3)"
    )
    outcome = Machine().run([sys.executable, "-c", program], text="hello")
    assert outcome == Outcome(3, "hello\n", "no\n")
    assert outcome.said == "no"


def test_a_command_has_the_machines_variables_only() -> None:
    program = "import os; print(os.environ.get('ONE'), os.environ.get('HOME'))"
    machine = Machine(environ={"ONE": "1"})
    assert machine.run([sys.executable, "-c", program]).out == "1 None\n"


def test_a_command_that_is_not_there_or_hangs_is_an_outcome() -> None:
    missing = Machine().run(["no-such-program"])
    assert (missing.code, missing.said[:17]) == (127, "no-such-program: ")
    hung = Machine().run([sys.executable, "-c", "input()"], text="", timeout=60)
    assert hung.code == 1
    slow = [sys.executable, "-c", "import time; time.sleep(60)"]
    assert Machine().run(slow, timeout=0.2).code == 124


def test_silence_is_told_by_its_code() -> None:
    assert Outcome(5).said == "exit code 5"


def test_the_recorded_machine_refuses_what_nobody_expected() -> None:
    machine = Recorded(answers={("a", "b"): Outcome(0, "ab"), ("a",): Outcome(0, "a")})
    assert machine.run(["a", "b", "c"]).out == "ab"
    assert machine.run(["a", "c"]).out == "a"
    assert machine.ran == [["a", "b", "c"], ["a", "c"]]
    with pytest.raises(AssertionError, match="nobody expected"):
        machine.run(["b"])
