"""What was set when and by whom, and what was cut."""
