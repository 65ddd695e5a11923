"""What runs, and what is set up."""
