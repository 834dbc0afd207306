"""Auctions: virtual batteries offered, bid for, and allocated to the highest bidder."""
