"""Where schedules lead: the stored energy that follows from them, and how they leave the asset."""
