"""Responses that the provider itself sends: read, and repaired where they stand."""
