"""Desktops to test with: folders, buses and stores of their own, never the user's."""
