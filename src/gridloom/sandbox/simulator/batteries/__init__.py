"""The batteries of the world: what they do minute by minute, and what their meters report."""
