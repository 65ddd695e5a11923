"""Folders for bug reports: private data removed, and rerun with today's fixes."""
