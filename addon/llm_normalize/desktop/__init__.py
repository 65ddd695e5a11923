"""Proxy settings, trust stores, services: one reader and one writer for each system."""
