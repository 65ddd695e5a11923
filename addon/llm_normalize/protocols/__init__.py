"""Protocols of clients, translated to chat completions and back."""
