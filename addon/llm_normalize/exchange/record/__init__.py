"""What is known of an answer: for the log, the statistics, and saved flows."""
