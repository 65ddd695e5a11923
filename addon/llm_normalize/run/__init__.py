"""Starting mitmproxy with the addon, and saying what to do next."""
