"""Forms of parameters and schemas that a refusal may ask for, or drops."""
