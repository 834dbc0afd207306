"""Availability of physical assets over HTTP, and what follows from a change of it."""
