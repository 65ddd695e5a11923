"""What is not framed as an event of its own."""
