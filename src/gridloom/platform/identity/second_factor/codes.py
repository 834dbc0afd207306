"""One-time codes: which time step a code belongs to, and how recovery codes are made."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from typing import Final
from uuid import UUID

import pyotp

STEP_S: Final = 30
DIGITS: Final = 6
TOLERATED_STEPS: Final = 1
"""A device's clock may be half a minute off, and typing takes time."""
SECRET_BYTES: Final = 20
RECOVERY_CODES: Final = 10
_RECOVERY_BYTES: Final = 10
_ISSUER: Final = "Gridloom"


def new_secret() -> bytes:
    """160 random bits, as RFC 4226 recommends."""
    return secrets.token_bytes(SECRET_BYTES)


def shown_secret(secret: bytes) -> str:
    """As a person types it into a device: base32."""
    return base64.b32encode(secret).decode()


def provisioning_uri(secret: bytes, username: str) -> str:
    """The content of a QR code."""
    return pyotp.TOTP(shown_secret(secret), digits=DIGITS, interval=STEP_S).provisioning_uri(username, _ISSUER)


def find_step(secret: bytes, code: str, now_s: float) -> int | None:
    """The time step of which this is the code, if that is the present one or one beside it.

    Every candidate is compared, in constant time.
    """
    one_time = pyotp.TOTP(shown_secret(secret), digits=DIGITS, interval=STEP_S)
    present = int(now_s) // STEP_S
    found = None
    for step in range(present - TOLERATED_STEPS, present + TOLERATED_STEPS + 1):
        if hmac.compare_digest(one_time.generate_otp(step).encode(), code.encode()):
            found = step
    return found


def new_recovery_codes() -> list[str]:
    """Ten codes of 80 random bits each, in groups of four letters and digits."""
    return [
        _group_letters(base64.b32encode(secrets.token_bytes(_RECOVERY_BYTES)).decode()) for _ in range(RECOVERY_CODES)
    ]


def recovery_code_hash(member_id: UUID, code: str) -> bytes:
    """The stored digest of a recovery code, however it was typed; 80 random bits need no slow hash."""
    plain = code.upper().replace("-", "").replace(" ", "")
    return hashlib.sha256(b"recovery\0" + member_id.bytes + plain.encode()).digest()


def _group_letters(code: str) -> str:
    return "-".join(code[start : start + 4] for start in range(0, len(code), 4))
