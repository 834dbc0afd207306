"""What is known about an asset besides its ratings, by category."""
