"""What `mitmdump -s addon/normalize.py` loads: nothing but the addon.

Touch this file to reload the whole package: mitmproxy re-runs only this script, and
would keep what it once imported (mitmproxy #4253). Open streams finish on the old code.

An older mitmproxy reads this, too, to learn why it will not do: written for Python 3.9.
"""

from __future__ import annotations

import asyncio
import json
import logging
import platform
import sys

from mitmproxy import addonmanager, ctx, http, tls, version

logger = logging.getLogger(__name__)


class StandIn:
    """What runs while the addon cannot: no request passes a gate that nobody keeps."""

    name = "llm_normalize"

    def __init__(self, reason: str) -> None:
        self.reason = reason

    def load(self, loader: addonmanager.Loader) -> None:
        """Say what is wrong; at mitmproxy's own start such a line ends it."""
        self._say()

    def _say(self) -> None:
        state = ""
        if "normalize_gate" in ctx.options:  # it was loaded before
            what = (
                "every request is refused" if self._shuts() else "nothing is repaired"
            )
            state = f"{what}. "
        logger.error("normalize: %s%s", state, self.reason)

    def _shuts(self) -> bool:
        # The options stay when their addon goes. A request that has a route must not
        # reach the host that it names either.
        names = ("normalize_gate", "normalize_routes")
        return any(getattr(ctx.options, name, True) for name in names)

    def requestheaders(self, flow: http.HTTPFlow) -> None:
        """Refuse a request, with an error in OpenAI's form."""
        if flow.response is None and self._shuts():
            message = "The proxy cannot serve requests now: its addon did not load."
            kind = {"type": "server_error", "param": None, "code": None}
            body = json.dumps({"error": {"message": message, **kind}})
            headers = {"content-type": "application/json"}
            flow.response = http.Response.make(503, body, headers)

    http_connect = request = requestheaders  # one may be under way already

    def tls_clienthello(self, data: tls.ClientHelloData) -> None:
        """Leave TLS closed, as the addon does for hosts that it does not repair."""
        if not (
            self._shuts()
            or not ctx.options.normalize_only
            or ctx.options.allow_hosts
            or data.context.client.proxy_mode.type_name == "reverse"
            or data.context.server.address is None
        ):
            data.ignore_connection = True


class Successor(StandIn):
    """What runs once this script is removed, until it is back.

    mitmproxy removes it before it reads it again, and then this very file may be half
    written, or gone.
    """

    name = "llm_normalize_successor"

    def load(self, loader: addonmanager.Loader) -> None:
        """Say what is wrong unless the script is back at once."""
        asyncio.get_running_loop().call_soon(self._say_if_needed)

    def tls_clienthello(self, data: tls.ClientHelloData) -> None:
        """Open what mitmproxy would: the script may be gone on purpose."""

    def _say_if_needed(self) -> None:
        if ctx.master.addons.get(self.name) is self:
            self._say()


def load(_: addonmanager.Loader) -> None:
    """Serve in place of what stood in for this script."""
    successor = ctx.master.addons.get(Successor.name)
    if successor is not None:
        ctx.master.addons.remove(successor)


def done() -> None:
    """Do not leave a gate open behind this script; at mitmproxy's end there is none."""
    if not ctx.master.should_exit.is_set():
        ctx.master.addons.add(
            Successor(
                f"The addon is not loaded: see to it that {__file__} is whole, then "
                "touch it; if it was removed, restart mitmproxy"
            )
        )


def _reason(error: Exception) -> str:
    return (
        f"The addon cannot be loaded: {type(error).__name__}: {error}; correct "
        f"that, then touch {__file__}"
    )


for _name in [name for name in sys.modules if name.split(".")[0] == "llm_normalize"]:
    del sys.modules[_name]

addons: list[StandIn | Normalize]
if sys.version_info < (3, 12) or int(version.VERSION.split(".")[0]) < 12:  # noqa: PLR2004 - mitmproxy 12
    addons = [
        StandIn(
            f"This is mitmproxy {version.VERSION} on Python {platform.python_version()}, "
            "and llm_normalize needs mitmproxy 12 on Python 3.12, or newer ones: start "
            "it with `python3 scripts/run.py`, which sets them up, or take a standalone "
            "mitmproxy 12 from mitmproxy.org"
        )
    ]
else:
    try:
        from llm_normalize.addon import Normalize

        class Guarded(Normalize):
            """The addon, with a stand-in for it if its options cannot be declared."""

            def load(self, loader: addonmanager.Loader) -> None:
                """Declare the options."""
                try:
                    super().load(loader)
                except Exception as error:
                    logger.debug(
                        "normalize: the package cannot be loaded", exc_info=True
                    )
                    addons[:] = [StandIn(_reason(error))]
                    addons[0].load(loader)

        addons = [Guarded()]
    except Exception as error:
        logger.debug("normalize: the package cannot be loaded", exc_info=True)
        addons = [StandIn(_reason(error))]
