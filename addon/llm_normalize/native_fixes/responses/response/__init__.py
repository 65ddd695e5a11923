"""The response around its items: its beginning, its figures, its end."""
