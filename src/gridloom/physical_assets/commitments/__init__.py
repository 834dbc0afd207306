"""What of a physical asset is held, by whom, and what no longer fits: its book as others see it."""
