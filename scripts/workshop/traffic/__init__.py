"""One server and one client for all that sends streams; processes that are measured."""
