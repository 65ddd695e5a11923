"""Locks, the audit, and what is built."""
