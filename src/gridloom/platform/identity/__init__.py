"""Organisations, their members and machines: authentication and authorization."""
