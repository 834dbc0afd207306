"""From a token to whoever sent it, at once where it was seen before, and no longer than it holds."""
