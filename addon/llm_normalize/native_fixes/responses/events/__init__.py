"""What each event has: its name, its number, its place."""
