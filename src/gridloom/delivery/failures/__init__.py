"""Which batteries failed, what of it was not delivered, and who stood in."""
