"""The programs of one shell through the proxy."""
