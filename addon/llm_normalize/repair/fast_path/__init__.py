"""Settled streams: templates, and how they are learned and discarded."""
