"""Schedules of blocks: accepting them, the energy that follows, and where they leave the asset."""
