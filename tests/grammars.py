"""What `jsonschema` imports for its formats, and no schema here needs."""

from __future__ import annotations

import sys


def leave_out_grammars() -> None:
    """Call it before whatever imports `jsonschema`: the grammars of IRIs take seconds to make. Without them no format
    `iri` is checked; nothing else changes."""
    sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]
