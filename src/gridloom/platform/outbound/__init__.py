"""Calls from the service to addresses that others name: checked where the socket is opened."""
