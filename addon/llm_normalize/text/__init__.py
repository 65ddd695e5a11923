"""Texts: made safe to print, recognised in any spelling, split into parts."""
