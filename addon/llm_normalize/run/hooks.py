"""A script for mitmproxy: take the password of the upstream proxy out of the environment.

As an option it works for mitmproxy's own connections and for those that the addon makes;
given by `--set` it would stand in the list of this machine's processes.
"""

import os

from mitmproxy import ctx

VARIABLE = "_LLM_NORMALIZE_UPSTREAM_AUTH"


def running() -> None:
    """Set mitmproxy's `upstream_auth`, once: what it starts does not inherit it."""
    auth = os.environ.pop(VARIABLE, None)
    if auth:
        ctx.options.update(upstream_auth=auth)
