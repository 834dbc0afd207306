"""Addresses that are called when something happens: set up by an organisation, signed, retried, logged."""
