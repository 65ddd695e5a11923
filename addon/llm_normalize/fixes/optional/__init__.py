"""Repairs that are off unless `normalize_also` names them."""
