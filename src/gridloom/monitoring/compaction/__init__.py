"""Segments folded into day chunks, and old chunks forgotten."""
