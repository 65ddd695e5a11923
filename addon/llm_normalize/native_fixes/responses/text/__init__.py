"""Parts of an item, and their text."""
