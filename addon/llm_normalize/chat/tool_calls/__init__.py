"""Calls of tools: those that were sent, and those that text or fragments hide."""
