"""Asking a provider, and reporting what its answers break and which fixes repair it."""
