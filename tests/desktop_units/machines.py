"""Machines that are not here: commands are recorded, and answered from a list."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from llm_normalize.desktop.machine import Machine, Result

Answer = Result | Callable[[list[str]], Result]


@dataclass(frozen=True)
class Recorded(Machine):
    """A machine whose commands only are written down.

    Attributes:
        answers: What the commands say, by how they begin, the longest beginning first;
            one that none fits fails the test.
        programs: What is installed.
        root: Whether the user is root.
        ran: The commands, as they were given.
        inputs: What each of them got as its input.
    """

    answers: dict[tuple[str, ...], Answer] = field(default_factory=dict)
    programs: tuple[str, ...] = ()
    root: bool = False
    ran: list[list[str]] = field(default_factory=list)
    inputs: list[str] = field(default_factory=list)

    def find(self, program: str) -> str | None:
        return f"/usr/bin/{program}" if program in self.programs else None

    def run(
        self, command: Sequence[str], *, text: str = "", timeout: float = 60
    ) -> Result:
        given = list(command)
        self.ran.append(given)
        self.inputs.append(text)
        for size in range(len(given), 0, -1):
            answer = self.answers.get(tuple(given[:size]))
            if answer is not None:
                return answer if isinstance(answer, Result) else answer(given)
        raise AssertionError(f"nobody expected the command {given}")

    def is_root(self) -> bool:
        return self.root
