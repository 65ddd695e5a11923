"""A streamed answer: rewritten as it passes, and sent by the clock."""
