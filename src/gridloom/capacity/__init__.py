"""The book of each battery: what it has, who holds how much of it, and what is left (nothing is sold twice)."""
