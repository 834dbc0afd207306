"""Decisions: the best schedule, its repair, the forecast of prices, what an auction is worth, and how one would have done."""
