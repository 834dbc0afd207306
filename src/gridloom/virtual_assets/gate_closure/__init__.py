"""What happens when gates close: schedules that no longer fit are cut, and whom it concerns is told."""
