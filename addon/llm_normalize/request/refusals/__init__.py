"""What a provider's refusal says: which fields it does not take, and what it takes."""
