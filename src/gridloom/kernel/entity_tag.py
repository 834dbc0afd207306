"""The entity tag of a resource (`ETag`, `If-Match`)."""

from __future__ import annotations

from hashlib import blake2b


def entity_tag(version: int, *shown: object) -> str:
    """The resource's version, and a digest of whatever else it shows that changes without a version of its own."""
    if not shown:
        return str(version)
    return f"{version}-{blake2b(repr(shown).encode(), digest_size=8).hexdigest()}"
