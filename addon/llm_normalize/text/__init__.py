"""Texts: printed safely, found again however they are spelled, cut into parts."""
