"""One program, or one shell, as a client of the proxy."""
