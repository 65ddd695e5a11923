"""The provider and the clients of tests, load and soak; processes that are measured."""
