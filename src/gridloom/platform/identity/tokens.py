"""The tokens themselves: signed ones, verified by public key, and opaque ones of which only the hash is kept."""

from __future__ import annotations

import hashlib
import re
import secrets
import zlib
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

import jwt
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt.utils import base64url_encode

from gridloom.kernel.ids import SessionID, UserID

ALGORITHM: Final = "EdDSA"
ISSUER: Final = "gridloom"
ACCESS_LIFETIME: Final = timedelta(minutes=15)
REFRESH_LIFETIME: Final = timedelta(days=30)
INVITATION_LIFETIME: Final = timedelta(days=7)
MAX_TOKEN: Final = 2048
CLOCK_SKEW_S: Final = 5.0
"""Tokens are issued and verified by the database's clock; another of its servers may have taken over in between."""

API_KEY_PREFIX: Final = "glk_"
_REFRESH_PREFIX: Final = "glr_"
_INVITATION_PREFIX: Final = "gli_"
_CHALLENGE_PREFIX: Final = "glc_"
_API_KEY: Final = re.compile(r"glk_([A-Za-z0-9_-]{43})([0-9a-f]{8})")


class TokenInvalid(Exception):
    """The token is not one of ours, or not any more."""


@dataclass(frozen=True, slots=True)
class SigningKey:
    kid: str
    private: Ed25519PrivateKey
    signs_from: datetime
    verifies_until: datetime | None

    @property
    def public(self) -> Ed25519PublicKey:
        return self.private.public_key()


@dataclass(frozen=True, slots=True)
class Claims:
    user_id: UserID
    session_id: SessionID
    issued_at: float
    """Seconds since 1970, by the database's clock."""
    expires_at: float

    def holds_at(self, now: float) -> bool:
        """Whether a token that was issued by now has not expired yet."""
        return self.issued_at <= now + CLOCK_SKEW_S and now < self.expires_at


def new_seed() -> tuple[str, bytes]:
    """A key identifier and the private half of a new key."""
    return secrets.token_urlsafe(12), secrets.token_bytes(32)


def signing_key(kid: str, seed: bytes, signs_from: datetime, verifies_until: datetime | None) -> SigningKey:
    return SigningKey(kid, Ed25519PrivateKey.from_private_bytes(seed), signs_from, verifies_until)


def sign_access_token(
    key: SigningKey, *, user_id: UUID, session_id: UUID, organisation_id: UUID, issued_at: datetime
) -> str:
    claims = {
        "iss": ISSUER,
        "sub": str(user_id),
        "sid": str(session_id),
        "org": str(organisation_id),
        "iat": int(issued_at.timestamp()),
        "exp": int((issued_at + ACCESS_LIFETIME).timestamp()),
        "jti": secrets.token_urlsafe(12),
    }
    return jwt.encode(claims, key.private, algorithm=ALGORITHM, headers={"kid": key.kid})


def kid_of(token: str) -> str:
    """Which key the token says it was signed with; nothing of it is believed yet."""
    try:
        header = jwt.get_unverified_header(token)
    except jwt.InvalidTokenError as error:
        raise TokenInvalid(str(error)) from None
    kid = header.get("kid")
    if header.get("alg") != ALGORITHM or not isinstance(kid, str):
        raise TokenInvalid("the header names no key of ours")
    return kid


def read_access_token(token: str, key: Ed25519PublicKey) -> Claims:
    """The claims, once signature, issuer and lifetime have been checked; whether they hold now is asked of them."""
    try:
        claims = jwt.decode(
            token,
            key,
            algorithms=[ALGORITHM],
            issuer=ISSUER,
            options={"require": ["exp", "iat", "iss", "sub", "sid"], "verify_iat": False, "verify_exp": False},
        )
        issued_at, expires_at = float(claims["iat"]), float(claims["exp"])
        if not 0 < expires_at - issued_at <= ACCESS_LIFETIME.total_seconds():
            raise TokenInvalid("it lasts longer than any that was issued")
        return Claims(UserID(UUID(claims["sub"])), SessionID(UUID(claims["sid"])), issued_at, expires_at)
    except (jwt.InvalidTokenError, ValueError, TypeError, AttributeError) as error:
        raise TokenInvalid(str(error)) from None


def public_part(key: SigningKey) -> str:
    """The public half as JSON Web Keys have it: base64url without padding."""
    return base64url_encode(key.public.public_bytes(Encoding.Raw, PublicFormat.Raw)).decode()


def new_refresh_token() -> str:
    return _REFRESH_PREFIX + secrets.token_urlsafe(32)


def new_invitation_token() -> str:
    return _INVITATION_PREFIX + secrets.token_urlsafe(32)


def new_suffix() -> str:
    """The form of a user name that is unique."""
    return secrets.token_hex(3)


def new_challenge() -> str:
    return _CHALLENGE_PREFIX + secrets.token_urlsafe(32)


def new_api_key() -> str:
    """A secret that scanners recognise, with a checksum that refuses misprints without asking the database."""
    body = secrets.token_urlsafe(32)
    return f"{API_KEY_PREFIX}{body}{_compute_checksum(body)}"


def is_api_key(token: str) -> bool:
    match = _API_KEY.fullmatch(token)
    return match is not None and _compute_checksum(match[1]) == match[2]


def hash_of(token: str) -> bytes:
    """The stored digest of an opaque token: 256 random bits need no slow hash."""
    return hashlib.sha256(token.encode()).digest()


def _compute_checksum(body: str) -> str:
    return f"{zlib.crc32(body.encode()):08x}"
