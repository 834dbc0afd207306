"""Open positions of virtual assets and of batteries' owners."""
