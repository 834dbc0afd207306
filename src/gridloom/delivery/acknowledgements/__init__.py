"""What sites say of their batteries' dispatch, quarter-hour by quarter-hour."""
