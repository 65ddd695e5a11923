"""Calls: their ids, names and arguments."""
