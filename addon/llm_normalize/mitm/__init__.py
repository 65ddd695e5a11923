"""mitmproxy's inside: all that goes beyond its documented interface for addons."""
