"""Request bodies: how much is taken at once, looked at before it is unpacked, decoded where nobody waits for it."""
