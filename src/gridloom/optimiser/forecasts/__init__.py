"""Day-ahead prices of the days to come."""
