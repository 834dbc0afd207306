"""Zones by quarter-hours: what was scheduled, netted and left unserved."""
