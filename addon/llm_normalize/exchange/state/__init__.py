"""The state of an exchange, and of the answer that is running."""
