"""What stands behind virtual assets: the physical capacity promised to them, and what of it is available."""
