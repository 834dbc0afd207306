"""Rooms of any service: HTTP, database, jobs, events, audit, identity. They know nothing of batteries."""
