"""Events to fixes to the machine to bytes; bodies; the memory of a text."""
