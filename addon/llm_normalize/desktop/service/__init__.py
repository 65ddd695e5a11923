"""The proxy as a service of this user."""
