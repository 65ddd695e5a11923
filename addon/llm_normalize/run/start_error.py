"""Why mitmproxy was not started."""


class StartError(Exception):
    """What keeps mitmproxy from starting, and how to repair it, as one sentence.

    Attributes:
        code: The exit code.
    """

    code = 1


class CallError(StartError):
    """The command line is wrong, whatever this machine is like."""

    code = 2
