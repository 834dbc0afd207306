"""What is missing from an asset, when and why; every change of it ripples to what was offered and scheduled."""
