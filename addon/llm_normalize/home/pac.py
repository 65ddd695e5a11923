"""A proxy auto-configuration file: which hosts a client sends through the proxy.

Its JavaScript is of the oldest kind (ECMAScript 3), which every system's engine knows.
https://developer.mozilla.org/docs/Web/HTTP/Guides/Proxy_servers_and_tunneling/Proxy_Auto-Configuration_PAC_file
"""

import json
from collections.abc import Iterable

from ..routing.hosts import HostPattern
from ..text.network_address import address

TYPE = "application/x-ns-proxy-autoconfig"

# Says what HostPattern.matches says; tests/home/test_pac.py holds them together.
_SCRIPT = r"""// The hosts that llm_normalize repairs go through it, and no others.
var THROUGH = %(through)s;
var OTHERWISE = %(otherwise)s;
// Whether any labels may stand before, the port or -1, the labels, the last first.
var HOSTS = [
%(hosts)s
];

function portOf(url) {
  var found =
    /^(?:http|ws)(s?):\/\/(?:[^\/?#@]*@)?(?:\[[^\]]*\]|[^:\/?#]*)(?::([0-9]+))?/i.exec(url);
  if (!found) return -1;
  if (found[2]) return parseInt(found[2], 10);
  return found[1] ? 443 : 80;
}

function fits(labels, port, pattern) {
  var wanted = pattern[2];
  if (pattern[1] >= 0 && pattern[1] != port) return false;
  if (pattern[0] ? labels.length <= wanted.length : labels.length != wanted.length) {
    return false;
  }
  for (var i = 0; i < wanted.length; i++) {
    if (wanted[i] != "*" && wanted[i] != labels[i]) return false;
  }
  return true;
}

function FindProxyForURL(url, host) {
  var name = host.toLowerCase().replace(/^\[|\]$/g, "").replace(/\.+$/, "");
  var labels = name.indexOf(":") < 0 ? name.split(".").reverse() : [name];
  var port = portOf(url);
  for (var i = 0; port >= 0 && i < HOSTS.length; i++) {
    if (fits(labels, port, HOSTS[i])) return THROUGH;
  }
  return OTHERWISE;
}
"""


def script(
    patterns: Iterable[HostPattern], proxy: str, otherwise: str = "DIRECT"
) -> str:
    """Return the file.

    Args:
        patterns: The hosts that go through the proxy.
        proxy: Where the client reaches the proxy, as `host:port`.
        otherwise: The way of all other hosts, and of these while the proxy is off.
    """
    hosts = [
        [each.open_start, -1 if each.port is None else each.port, list(each.labels)]
        for each in patterns
    ]
    return _SCRIPT % {
        "through": json.dumps(f"PROXY {proxy}; {otherwise}"),
        "otherwise": json.dumps(otherwise),
        "hosts": ",\n".join(f"  {json.dumps(each)}" for each in hosts),
    }


def upstream(scheme: str, host: str, port: int) -> str:
    """Return the way through another proxy, in the words of such a file."""
    return f"{'HTTPS' if scheme == 'https' else 'PROXY'} {address(host, port)}"
