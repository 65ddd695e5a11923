"""Folders for bug reports: what is private taken out, and run again."""
