"""Several instances behind HAProxy."""
