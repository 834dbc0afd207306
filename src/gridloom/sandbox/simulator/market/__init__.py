"""Prices that a German trader would take for real ones, the same for a seed and a day wherever they are asked for."""
