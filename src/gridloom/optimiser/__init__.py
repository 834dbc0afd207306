"""Decisions: the best schedule, its repair, the forecast of prices, the value of an auction, and past days replayed."""
