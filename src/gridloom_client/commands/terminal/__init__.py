"""What commands share at a terminal: what was typed and meant, what is shown, and how a command ends."""
