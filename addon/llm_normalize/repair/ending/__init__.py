"""How a stream ends: what waits, and what is added."""
