"""Organisations, their members and machines: who somebody is and what they may reach."""
