"""What the addon relies on beyond mitmproxy's documented interface, thing by thing.

Each stands beside the change of mitmproxy that would make it unnecessary, which
addon/docs/contributing.md describes.
"""

import ast
import importlib
import inspect
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "addon" / "llm_normalize"
ROOM = PACKAGE / "mitm"
TOOLS = ("check", "demo", "desktop", "doctor", "report", "run")
"""Programs of their own: mitmproxy does not load them."""
DOCUMENTED = {
    "mitmproxy",
    "mitmproxy.flow",
    "mitmproxy.proxy",
    "mitmproxy.proxy.context",
    "mitmproxy.proxy.mode_specs",
    "mitmproxy.proxy.server_hooks",
}
"""Modules of mitmproxy's API reference, and what they are in."""
NAMES = {
    "addonmanager", "certs", "command", "connection", "contentviews", "ctx", "exceptions", "flow", "hooks", "http", "mode_specs", "server_hooks", "tls", "types",
}  # fmt: skip
"""What may be imported from these packages themselves."""

SEND = "Send at any time"
SECOND = "A request of an addon's own"
SLOW = "Read no more for now"
SAVED = "Leave something out of saved flows"
HOST = "The Host that a client of a reverse proxy sent"
START = "A reverse proxy whose server is down"
CODES = "The code of an error"
WATCHED = "Whether anybody looks"
PLACES = "Where mitmproxy listens"

PRIVATE = {
    "mitmproxy.proxy.layers.http:HttpLayer": {"command_sources": SEND, "connections": SEND, "streams": SEND},
    "mitmproxy.proxy.layers.http:HttpStream": {
        "_paused": SEND,
        "_paused_event_queue": SECOND,
        "client_state": SEND,
        "server_state": SEND,
        "send_response": SECOND,
        "start_response_stream": SECOND,
        "state_consume_response_body": SECOND,
        "state_done": SEND,
        "state_errored": SEND,
        "state_stream_response_body": SEND,
        "state_uninitialized": SEND,
        "state_wait_for_request_headers": HOST,
        "state_wait_for_response_headers": SEND,
        "stream_id": SEND,
    },
    "mitmproxy.proxy.layers.http:DropStream": {},
    "mitmproxy.proxy.layers.http:SendHttp": {},
    "mitmproxy.proxy.layers.http._base:HttpConnection": {},
    "mitmproxy.proxy.layers.http._base:HttpEvent": {},
    "mitmproxy.proxy.layers.http._base:ReceiveHttp": {},
    "mitmproxy.proxy.layers.http._events:ErrorCode": {"CANCEL": SEND},
    "mitmproxy.proxy.layers.http._events:HttpEvent": {},
    "mitmproxy.proxy.layers.http._events:RequestData": {},
    "mitmproxy.proxy.layers.http._events:RequestEndOfMessage": {},
    "mitmproxy.proxy.layers.http._events:RequestHeaders": {},
    "mitmproxy.proxy.layers.http._events:RequestProtocolError": {},
    "mitmproxy.proxy.layers.http._events:ResponseData": {},
    "mitmproxy.proxy.layers.http._events:ResponseEndOfMessage": {},
    "mitmproxy.proxy.layers.http._events:ResponseHeaders": {},
    "mitmproxy.proxy.layers.http._events:ResponseProtocolError": {},
    "mitmproxy.proxy.layers.http._http1:Http1Client": {"read_headers": SECOND},
    "mitmproxy.proxy.layers.http._http1:Http1Server": {"stream_id": SEND},
    "mitmproxy.proxy.layers.http._http2:Http2Client": {},
    "mitmproxy.proxy.layers.http._http2:Http2Server": {"h2_conn": SEND, "is_open_for_us": SEND, "streams": SEND},
    "mitmproxy.proxy.layers.http._upstream_proxy:HttpUpstreamProxy": {"make": SECOND},
    "mitmproxy.proxy.layers.modes:ReverseProxy": {"_handle_event": START, "child_layer": START, "finish_start": START},
    "mitmproxy.proxy.layers.tls:ServerTLSLayer": {},
    "mitmproxy.proxy.layers.tls:HTTP1_ALPNS": {},
    "mitmproxy.proxy.layers.tls:HTTP_ALPNS": {},
    "mitmproxy.proxy.tunnel:LayerStack": {},
    "mitmproxy.proxy.server:ConnectionHandler": {
        "_drain_lock": SLOW,
        "close_connection": SEND,
        "drain_writers": SECOND,
        "layer": SEND,
        "server_event": SEND,
        "transports": SEND,
        "wakeup_timer": SECOND,
    },
    "mitmproxy.proxy.layer:CommandGenerator": {},
    "mitmproxy.proxy.layer:Layer": {},
    "mitmproxy.proxy.commands:RequestWakeup": {},
    "mitmproxy.proxy.commands:StartHook": {},
    "mitmproxy.proxy.events:ConnectionClosed": {},
    "mitmproxy.proxy.events:DataReceived": {},
    "mitmproxy.proxy.events:Start": {},
    "mitmproxy.proxy.events:Wakeup": {},
    "mitmproxy.http:HTTPFlow": {"copy": SAVED, "get_state": SAVED},
    "mitmproxy.flow:Error": {"KILLED_MESSAGE": CODES},
    "mitmproxy.net.http.validate:validate_headers": {},
    "mitmproxy.net.http.url:hostport": {},
    "mitmproxy.net.http.url:parse_authority": {},
    "mitmproxy.utils.asyncio_utils:create_task": {},
    "mitmproxy.utils.human:parse_size": {},
    "mitmproxy.addonmanager:traverse": {},
    "mitmproxy.addonmanager:AddonManager": {"get": WATCHED, "handle_lifecycle": SECOND},
    "mitmproxy.hooks:UpdateHook": {},
    "mitmproxy.optmanager:OptManager": {"deferred": WATCHED},
    "mitmproxy.addons.proxyserver:Proxyserver": {"connections": PLACES, "is_running": PLACES, "listen_addrs": PLACES, "servers": PLACES},
    "mitmproxy.addons.tlsconfig:TlsConfig": {"certstore": PLACES},
}  # fmt: skip
"""Things by their place, and of each what is used, with what would make it unnecessary."""

THINGS = [(place, name) for place, names in PRIVATE.items() for name in (names or [""])]
MODULES = [
    path
    for path in PACKAGE.rglob("*.py")
    if path.relative_to(PACKAGE).parts[0] not in TOOLS
]


@pytest.mark.parametrize(("place", "name"), THINGS)
def test_mitmproxy_has_it(place: str, name: str) -> None:
    module, _, owner = place.partition(":")
    thing = getattr(importlib.import_module(module), owner)
    if name and not hasattr(thing, name):  # each instance gets it
        own = [x for x in inspect.getmro(thing) if x.__module__.startswith("mitmproxy")]
        made = "".join(map(inspect.getsource, own))
        assert f"self.{name}" in made or f"\n    {name}:" in made


def imported(path: Path) -> list[tuple[str, str]]:
    """Return (module, name) of what a module imports from mitmproxy."""
    nodes = [*ast.walk(ast.parse(path.read_text(encoding="utf-8")))]
    whole = [
        x.name for node in nodes if isinstance(node, ast.Import) for x in node.names
    ]
    assert not [each for each in whole if each.startswith("mitmproxy")], path
    found = [node for node in nodes if isinstance(node, ast.ImportFrom)]
    return [
        (str(node.module), each.name)
        for node in found
        if not node.level and str(node.module).partition(".")[0] == "mitmproxy"
        for each in node.names
    ]


def test_only_one_room_goes_beyond_the_documented_interface() -> None:
    beyond = {
        (path.name, module, name)
        for path in MODULES
        if path.parent != ROOM
        for module, name in imported(path)
        if module not in DOCUMENTED
        or (module in ("mitmproxy", "mitmproxy.proxy") and name not in NAMES)
    }
    assert beyond == set()


def test_only_that_room_asks_for_other_addons() -> None:
    for path in MODULES:
        asks = "addons.get(" in path.read_text(encoding="utf-8")
        assert path.parent == ROOM or not asks, path


def test_whatever_that_room_imports_is_listed() -> None:
    listed = {tuple(place.split(":")) for place in PRIVATE}
    modules = {module for module, _ in listed}
    for path in ROOM.glob("*.py"):
        for module, name in imported(path):
            if module in DOCUMENTED and f"{module}.{name}" not in modules:
                continue
            is_module = f"{module}.{name}" in modules
            assert is_module or (module, name) in listed, (path.name, module, name)


def test_whatever_private_it_asks_for_is_listed() -> None:
    listed = {name for names in PRIVATE.values() for name in names}
    for path in ROOM.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Attribute) or not node.attr.startswith("_"):
                continue
            owner = node.value
            is_own = isinstance(owner, ast.Name) and owner.id in ("self", "cls")
            is_special = node.attr.startswith("__")
            assert is_own or is_special or node.attr in listed, (path.name, node.attr)


def test_what_would_make_it_unnecessary_is_described() -> None:
    text = (ROOT / "addon" / "docs" / "contributing.md").read_text(encoding="utf-8")
    for wish in {wish for names in PRIVATE.values() for wish in names.values()}:
        assert f"**{wish}.**" in text
