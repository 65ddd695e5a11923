"""Cost per event beside mitmproxy's own, in duels."""
