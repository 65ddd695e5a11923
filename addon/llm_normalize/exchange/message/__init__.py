"""A request or an answer as HTTP: bodies, headers, and what they say of the exchange."""
