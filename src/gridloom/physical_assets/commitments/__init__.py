"""Held and free capacity of a physical asset, and conflicts: its book as others see it."""
