"""Many streams at once: latency, memory, processor time."""
