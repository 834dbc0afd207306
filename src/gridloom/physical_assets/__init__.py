"""Batteries that exist: who owns them, what they can do and when, what they are scheduled to do."""
