"""One flow from its request to its record, in mitmproxy: `exchange.Exchange`."""
