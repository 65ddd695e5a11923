"""The proxy's own pages: home, clients, fixes, documents, PAC, status, figures, probe."""

PREFIX = "/llm-normalize"
"""Below which path a reverse proxy has its pages."""
