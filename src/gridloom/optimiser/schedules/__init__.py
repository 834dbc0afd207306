"""Schedules proposed for virtual assets: the best one, and the nearest that works."""
