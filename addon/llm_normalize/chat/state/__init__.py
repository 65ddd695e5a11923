"""What a chat request asked, and what has been sent to its client so far."""
