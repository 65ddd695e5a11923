"""Why mitmproxy was not started."""


class StartError(Exception):
    """What keeps mitmproxy from starting, and how to repair it, as one sentence."""
