"""Settlements in: six kinds of facts, kept exactly with every correction, and summed up per asset and market day."""
