"""Parts that commands share at a terminal: their options, their output, and how they end."""
