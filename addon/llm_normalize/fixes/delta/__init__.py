"""Roles, content and reasoning."""
