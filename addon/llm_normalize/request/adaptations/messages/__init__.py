"""Forms of messages and calls that a refusal may ask for."""
