"""Events to fixes to an ending to bytes; bodies; the fast path of settled streams."""
