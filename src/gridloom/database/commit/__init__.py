"""What a transaction does as its last: rows of all rooms in one statement, and what waits for its end."""
