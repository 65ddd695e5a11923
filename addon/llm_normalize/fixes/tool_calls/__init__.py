"""Tool calls and their fragments."""
