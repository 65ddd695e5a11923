"""Errors in the form of OpenAI."""
