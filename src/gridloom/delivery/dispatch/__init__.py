"""Dispatch of each battery: its versions, and the one in force."""
