"""Hosts, routes, model names, keys, the gate, and pages of the web."""
