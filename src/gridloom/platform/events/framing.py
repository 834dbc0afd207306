"""Server-sent events as bytes (WHATWG HTML, 9.2)."""

from __future__ import annotations

HEARTBEAT = b":\n\n"


def frame(sequence: int, type: str, body: bytes) -> bytes:
    """One event; its data is one line, as JSON has no raw line break."""
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (sequence, type.encode(), body)


def opening_frame(position: int, retry_ms: int) -> bytes:
    """Sends the client its position before any event, so that even a quiet connection can be resumed."""
    return b"retry: %d\nid: %d\n\n" % (retry_ms, position)


def sequence_frame(position: int) -> bytes:
    """A heartbeat that moves the client past events that it was not sent."""
    return b"id: %d\n\n" % position
