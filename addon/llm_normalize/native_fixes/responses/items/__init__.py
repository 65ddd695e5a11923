"""Items of the output: their beginnings and ends."""
