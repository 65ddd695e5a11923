"""Pairs logs summed up: on a terminal, as a page, as JSON."""
