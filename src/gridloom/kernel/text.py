"""Characters that no name or text may contain: they are seen as nothing, or turn round what is beside them.

Control characters move a terminal's cursor and colour its lines; bidirectional embeddings, overrides and isolates
(Unicode TR 36) make one text look like another. Lines and tabs are allowed in a text, not in a name.
"""

from __future__ import annotations

import re
from typing import Final

_BIDIRECTIONAL: Final = r"\u202a-\u202e\u2066-\u2069"
FORBIDDEN_IN_TEXT: Final = rf"\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f{_BIDIRECTIONAL}"
FORBIDDEN_IN_NAMES: Final = rf"\u0000-\u001f\u007f-\u009f\u2028\u2029{_BIDIRECTIONAL}"
"""Inside the brackets of a regular expression, in Python, in ECMAScript and in JSON Schema."""

_FORBIDDEN: Final = re.compile(f"[{FORBIDDEN_IN_TEXT}]")


def find_forbidden(text: str) -> str | None:
    """The error of a text, as a problem words it; None where there is none."""
    found = _FORBIDDEN.search(text)
    if found is None:
        return None
    character = ord(found[0])
    if character == 0:
        return "contains U+0000"
    kind = "a control character" if character < 0xA0 else "a bidirectional override"
    return f"contains {kind}, U+{character:04X}"


def may_hold_forbidden(encoded: bytes) -> bool:
    """Whether JSON in UTF-8 could hold such a character: a quick look that nearly every body passes."""
    return b"\\" in encoded or b"\x7f" in encoded or not encoded.isascii()
