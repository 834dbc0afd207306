"""Valuations of auctions before bidding."""
