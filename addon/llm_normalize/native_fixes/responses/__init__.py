"""Responses whose provider speaks OpenAI's newer protocol itself."""
