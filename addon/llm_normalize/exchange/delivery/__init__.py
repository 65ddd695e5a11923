"""How an answer reaches its client: as a stream, or as a body."""
