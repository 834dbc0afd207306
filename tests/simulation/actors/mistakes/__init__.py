"""Mistakes that people make, one for each problem type that no ordinary action leads to; each is made when a life has
not met its problem yet."""
