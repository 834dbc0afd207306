"""Metadata of an asset besides its ratings, by category."""
