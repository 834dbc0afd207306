"""Past days played again."""
