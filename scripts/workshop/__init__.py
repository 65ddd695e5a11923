"""What the benchmark, the soak test, the fuzzer and the release share."""
