"""The versions of schedules with their authors, and the adjustments at gate closure."""
