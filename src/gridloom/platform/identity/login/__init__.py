"""From a user name and a password to a session: which there may be, how often they may be tried, what begins."""
