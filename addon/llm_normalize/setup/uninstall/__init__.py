"""Everything taken away again."""
