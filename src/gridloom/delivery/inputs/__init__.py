"""The inputs of a zone's plan, and whether any has changed."""
