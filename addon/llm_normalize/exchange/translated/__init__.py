"""Requests and answers of clients that speak another protocol."""
