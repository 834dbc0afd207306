"""Server-sent events as they come over the wire."""

from __future__ import annotations

import json
from typing import Any


def read_events(content: bytes) -> list[tuple[int, dict[str, Any]]]:
    """Numbers with their events; comments and bare numbers are passed over."""
    found = []
    for piece in content.decode().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in piece.splitlines() if ": " in line and not line.startswith(":"))
        if "data" in fields and "id" in fields:
            found.append((int(fields["id"]), json.loads(fields["data"])))
    return found
