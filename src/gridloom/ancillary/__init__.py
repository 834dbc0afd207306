"""Balancing-market offers: the products, bids for them and the results of their tenders."""
