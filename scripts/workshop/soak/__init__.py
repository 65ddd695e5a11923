"""Hours of provoked faults, each answer judged."""
