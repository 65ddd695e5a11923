"""One program through the proxy."""
