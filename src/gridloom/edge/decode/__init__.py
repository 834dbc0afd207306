"""Request bodies: back-pressure, prechecks before decoding, and decoding off the event loop."""
