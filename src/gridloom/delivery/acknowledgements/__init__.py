"""Acknowledgements: statements of sites about their batteries' dispatch, quarter-hour by quarter-hour."""
