"""Places in the database's log, as PostgreSQL writes them and as callers see them: sealed.

How far the log has come between two of its own changes would tell a caller how much others have written, and so whether
another organisation has bid. The sealed position says when it was read, which orders two of them, and no more.
"""

from __future__ import annotations

import base64
import binascii
import os
import re
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

Lsn = int
"""A position in PostgreSQL's log, in bytes from its beginning."""

_WRITTEN: Final = re.compile(r"([0-9A-Fa-f]{1,8})/([0-9A-Fa-f]{1,8})")
_SEALED: Final = re.compile(r"[0-9a-f]{1,16}\.([A-Za-z0-9_-]{48})")
_NONCE_BYTES: Final = 12


def read_position(text: str | None) -> Lsn | None:
    """A position as PostgreSQL writes it, such as 0/16B3748; None for anything else."""
    found = _WRITTEN.fullmatch(text) if text is not None else None
    return None if found is None else (int(found[1], 16) << 32) | int(found[2], 16)


class LsnCipher:
    """Seals and opens positions with a key that all replicas of the service share."""

    def __init__(self, key: bytes) -> None:
        self._cipher = AESGCM(key)

    def seal(self, position: Lsn, read_at_us: int) -> str:
        nonce = os.urandom(_NONCE_BYTES)
        sealed = nonce + self._cipher.encrypt(nonce, position.to_bytes(8), None)
        return f"{read_at_us:x}.{base64.urlsafe_b64encode(sealed).decode()}"

    def open(self, text: str | None) -> Lsn | None:
        """None for what was not sealed with this key."""
        found = _SEALED.fullmatch(text) if text is not None else None
        if found is None:
            return None
        try:
            sealed = base64.urlsafe_b64decode(found[1])
            return int.from_bytes(self._cipher.decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], None))
        except (InvalidTag, binascii.Error):
            return None
