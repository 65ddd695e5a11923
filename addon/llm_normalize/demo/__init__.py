"""One stream of an embedded provider through a real mitmdump, before and after."""
