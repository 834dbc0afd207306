"""The second stage of a request: parameters and body, from bytes into declared types."""
