"""Jobs that keep what the platform stores from growing, and tell of what runs out."""
