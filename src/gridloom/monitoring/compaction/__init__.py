"""Segments compacted into blocks, and expired blocks deleted."""
