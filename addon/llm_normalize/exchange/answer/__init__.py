"""One answer, from its headers to its record."""
