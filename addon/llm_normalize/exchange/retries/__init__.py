"""Other answers that take the place of a first one."""
