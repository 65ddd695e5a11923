"""Servers, clients and processes that the load and the soak test share."""
