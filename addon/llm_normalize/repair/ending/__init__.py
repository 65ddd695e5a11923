"""How a stream ends: what is held, and what is added."""
