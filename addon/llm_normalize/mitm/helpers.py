"""Small functions of mitmproxy that its documented interface lacks."""

from mitmproxy.net.http.url import hostport, parse_authority
from mitmproxy.utils.asyncio_utils import create_task
from mitmproxy.utils.human import parse_size

__all__ = ["create_task", "hostport", "parse_authority", "parse_size"]
