"""Measured delivery against dispatch."""
