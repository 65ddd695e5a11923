"""Finish reasons."""
