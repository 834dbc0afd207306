"""What a zone's plan is made from, and whether any of it has changed."""
