"""What assets can do and when, from their ratings and everything that is unavailable."""
