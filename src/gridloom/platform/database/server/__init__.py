"""A PostgreSQL of our own: its programs, its processes and a standby of it."""
