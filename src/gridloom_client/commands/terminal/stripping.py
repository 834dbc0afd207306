"""Texts of others on one's own terminal, without what is more than text."""

from __future__ import annotations

import re
from typing import Final

_CONTROLS: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def strip_controls(text: str) -> str:
    """Without what would move the cursor, colour the terminal or turn the text round."""
    return _CONTROLS.sub("", text)
