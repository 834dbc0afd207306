"""Gate closure: revalidation, cuts and their events, and conflicts with batteries' availability."""
