"""Positions, reserves and earnings at each stage of a delivery day."""
