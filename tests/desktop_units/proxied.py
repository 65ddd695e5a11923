"""A desktop of KDE's that is not here: its tools, with what they change."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from llm_normalize.desktop.machine import Machine, Result


@dataclass(frozen=True)
class Plasma(Machine):
    """A machine with the tools of KDE Plasma 6.

    Attributes:
        values: The entries of its proxy settings.
    """

    values: dict[str, str] = field(default_factory=dict)

    def find(self, program: str) -> str | None:
        return f"/usr/bin/{program}" if program.endswith("config6") else None

    def run(
        self, command: Sequence[str], *, text: str = "", timeout: float = 60
    ) -> Result:
        program, *given = command
        assert given[:4] == ["--file", "kioslaverc", "--group", "Proxy Settings"]
        name, option, *value = given[5:]
        if program == "kreadconfig6":
            assert option == "--default"
            return Result(0, self.values.get(name, *value) + "\n")
        assert program == "kwriteconfig6"
        if option == "--delete":
            self.values.pop(name, None)
        else:
            assert option == "--"
            (self.values[name],) = value
        return Result(0)
