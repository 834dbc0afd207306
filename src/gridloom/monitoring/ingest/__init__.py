"""Points on their way in: bodies read into columns, checked, and stored as segments."""
