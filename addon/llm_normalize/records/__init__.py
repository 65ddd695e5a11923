"""The pairs log, the statistics, and the snapshot that views show."""
