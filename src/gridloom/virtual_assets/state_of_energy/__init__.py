"""Stored energy and operational series of a virtual asset over HTTP."""
