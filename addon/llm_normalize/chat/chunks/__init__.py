"""A chunk and its parts: what they hold, and how they are read."""
