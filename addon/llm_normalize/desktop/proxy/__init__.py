"""The system's proxy settings: what is set, what to set, and putting it back."""
