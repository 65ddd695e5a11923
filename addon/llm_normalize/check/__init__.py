"""Whether this machine's programs reach the proxy and trust it."""
