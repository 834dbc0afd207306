"""The markets of a delivery day: positions, stages, and orders from placing to their results."""
