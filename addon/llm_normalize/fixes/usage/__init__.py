"""Token counts."""
