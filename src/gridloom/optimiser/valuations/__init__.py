"""What an auction is worth before bidding."""
