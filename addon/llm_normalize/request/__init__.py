"""Requests that a provider would refuse: adaptations, and what refusals teach."""
