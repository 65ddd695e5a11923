"""Events to fixes to an ending to bytes; bodies; the memory of a text."""
