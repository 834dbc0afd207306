"""Permissions of other organisations on an asset."""
