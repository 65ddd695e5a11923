"""What depends on what was sent before: what is held, merged, added or dropped."""
