"""How far the schedule of each quarter-hour may move by itself."""
