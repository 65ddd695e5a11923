"""What llm-normalize has set up on this machine: told, and taken away."""
