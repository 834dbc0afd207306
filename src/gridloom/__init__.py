"""The Gridloom service."""
