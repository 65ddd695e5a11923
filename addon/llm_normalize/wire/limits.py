"""What is repaired at most: a larger event or body passes as the provider sent it."""

MAX_EVENT = 8 * 1024 * 1024
"""Bytes of one event of a stream, and of what is held until it can be sent."""

MAX_BODY = 8 * 1024 * 1024
"""Bytes of a body that is decoded and parsed, unless `body_size_limit` says otherwise."""
