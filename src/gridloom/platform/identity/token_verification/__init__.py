"""From a token to its caller, at once where it was seen before, and no longer than it holds."""
