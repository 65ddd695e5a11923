"""What llm-normalize has set up on this machine: listed, and removed."""
