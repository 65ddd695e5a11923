"""Bytes and JSON text: server-sent events, where an event ends, content encodings."""
