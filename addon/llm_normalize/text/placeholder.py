"""The sentence in the place of what a model cannot read."""


def placeholder(what: str, where: str = "") -> str:
    """Return it for *what* was there, and *where* an agent may fetch it."""
    place = f": {where}" if where else ""
    return (
        f"({what} was here{place}. The model cannot read it: say so if it is needed.)"
    )
