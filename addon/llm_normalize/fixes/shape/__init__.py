"""Choices, deltas and messages where they belong."""
