"""Earnings by market day against the best day-ahead schedule and the platform's other assets."""
