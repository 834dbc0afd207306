"""A surface per domain: thin, typed methods, one for every operation of the service."""
