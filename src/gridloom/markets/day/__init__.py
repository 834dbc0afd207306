"""What stands and what was earned at each stage of a delivery day."""
