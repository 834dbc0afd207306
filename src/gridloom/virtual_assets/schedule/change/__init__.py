"""A change of schedules: its context, its validation, and the version that is written."""
