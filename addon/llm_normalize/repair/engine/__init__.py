"""Bytes in, bytes out: reads events, asks the fixes and the machine, and writes."""
