"""Lists of published prices as tests compare them."""

from __future__ import annotations

from typing import Any

import httpx2


def without_origin(answer: httpx2.Response) -> list[dict[str, Any]]:
    """The rows as they were sent: without whose they are and when they were first seen."""
    assert answer.status_code == 200, answer.text
    return [{name: row[name] for name in ("series", "start", "end", "price")} for row in answer.json()]
