import sys
from pathlib import Path

import psutil

from llm_normalize.desktop.machine import HUNG, Machine, Result


def test_a_command_gets_its_input_and_tells_how_it_ended() -> None:
    program = (
        "import sys; print(sys.stdin.read()); print('no', file=sys.stderr); exit(3)"
    )
    outcome = Machine().run([sys.executable, "-c", program], text="hello")
    assert outcome == Result(3, "hello\n", "no\n")
    assert outcome.last_line == "no"


def test_root_s_programs_are_found_by_what_a_command_starts(tmp_path: Path) -> None:
    show = [sys.executable, "-c", "import os; print(os.environ['PATH'])"]
    for given in ("/usr/bin:/bin", "/sbin", ""):
        machine = Machine(system="linux", environ={"PATH": given})
        found = machine.run(show).out.strip().split(":")
        assert found == machine.path.split(":")
        assert {"/usr/local/sbin", "/usr/sbin", "/sbin"} <= {*found}
        assert len(found) == len({*found})
        assert "" not in found  # that would be the folder one is in
    elsewhere = Machine(system="macos", environ={"PATH": str(tmp_path)})
    assert elsewhere.path == str(tmp_path)


def test_what_hangs_is_ended_with_what_it_started(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    hangs = f"sleep 60 & echo $! > {pid}; wait"
    outcome = Machine().run(["sh", "-c", hangs], timeout=1)
    assert (outcome.code, outcome.last_line) == (HUNG, "sh did not end within 1 s")
    child = int(pid.read_text())
    gone, alive = psutil.wait_procs(
        [psutil.Process(child)] if psutil.pid_exists(child) else [], timeout=10
    )
    assert not alive, gone
