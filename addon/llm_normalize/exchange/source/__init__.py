"""Where an answer comes from: the provider's first one, or the one that replaces it."""
