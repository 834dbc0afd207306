"""Blocks: slices of a virtual asset's power, carved out and given back."""
