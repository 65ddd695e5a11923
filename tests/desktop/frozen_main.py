"""What PyInstaller makes the frozen mitmdump of."""

from mitmproxy.tools.main import mitmdump

mitmdump()
