"""What shells read to complete the command; written by scripts/docs.py."""
