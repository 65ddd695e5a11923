"""Messages whose provider speaks Anthropic's protocol itself."""
