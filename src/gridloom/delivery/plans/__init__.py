"""The plan that stands in each zone, and how it is kept."""
