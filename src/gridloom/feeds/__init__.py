"""Feeds: market data that the platform pulls from public sources by itself."""
