"""What follows from the schedules: stored energy, and the operational series."""
