"""Errors of providers: where they stand, and what OpenAI would have said."""
