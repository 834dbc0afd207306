"""Safe retries: an Idempotency-Key and its answer are stored in the transaction that has the effect."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

import asyncpg
import orjson
from cryptography.fernet import Fernet

from gridloom.kernel.problem import BadRequest, IdempotencyInProgress, IdempotencyKeyReused
from gridloom.platform.database.commit import InsertTarget, defer_insert
from gridloom.platform.database.pool import Database

RETENTION = timedelta(hours=24)
MAX_KEY = 255


_COLUMNS: Final = dict.fromkeys(("caller_key", "key_digest", "fingerprint", "status", "headers", "body"), "{}")
ANSWERS: Final = InsertTarget(
    "idempotency",
    tuple(_COLUMNS.items()),
    """on conflict (caller_key, key_digest) do update
         set fingerprint = excluded.fingerprint, status = excluded.status, headers = excluded.headers,
             body = excluded.body, created_at = clock_timestamp()""",
)


@dataclass(frozen=True, slots=True)
class StoredResponse:
    status: int
    headers: dict[str, str]
    body: bytes


class ReplayStored(Exception):
    """The request was carried out before; this is what it answered."""

    def __init__(self, answer: StoredResponse) -> None:
        self.answer = answer


@dataclass(frozen=True, slots=True)
class IdempotencyKey:
    """An Idempotency-Key as the database knows it."""

    caller_key: str
    digest: bytes
    lock: int
    fingerprint: bytes


def still_running() -> IdempotencyInProgress:
    return IdempotencyInProgress("A request with this Idempotency-Key is still running. Ask again shortly.")


class IdempotencyScope:
    """One request under an Idempotency-Key."""

    def __init__(self, *, caller_key: str, operation_id: str, key: str, fingerprint: bytes, sealed: bool) -> None:
        if not 0 < len(key) <= MAX_KEY:
            raise BadRequest.at(
                "header:Idempotency-Key", f"Idempotency-Key is 1 to {MAX_KEY} characters long.", "has the wrong length"
            )
        self._caller_key = caller_key
        self._digest = hashlib.sha256(f"{operation_id}\0{key}".encode()).digest()
        self._lock = int.from_bytes(hashlib.sha256(caller_key.encode() + self._digest).digest()[:8], signed=True)
        # The key is not stored, so a body, which may hold a password, cannot be guessed from the fingerprint.
        self._fingerprint = hashlib.sha256(key.encode() + b"\0" + fingerprint).digest()
        self._seal = (
            Fernet(base64.urlsafe_b64encode(hashlib.sha256(b"seal\0" + key.encode()).digest())) if sealed else None
        )

    @property
    def key(self) -> IdempotencyKey:
        """For a statement that looks the key up, and keeps the answer, along with the effect."""
        assert self._seal is None, "a sealed answer is kept by `finish`"
        return IdempotencyKey(self._caller_key, self._digest, self._lock, self._fingerprint)

    async def begin(self, db: Database) -> None:
        """Go on if this is the first attempt; otherwise raise what is known of the first one."""
        row = await db.fetchrow(
            "select is_free, fingerprint, status, headers, body from idempotency_begin($1, $2, $3, $4)",
            self._caller_key,
            self._digest,
            self._lock,
            RETENTION,
        )
        assert row is not None
        if not row["is_free"]:
            raise still_running()
        if row["status"] is not None:
            raise self.stored_response(row["fingerprint"], row["status"], row["headers"], row["body"])

    def stored_response(self, fingerprint: bytes, status: int, headers: str, body: bytes) -> Exception:
        """The exception to raise where an earlier attempt has its response."""
        if bytes(fingerprint) != self._fingerprint:
            return IdempotencyKeyReused("This Idempotency-Key was used for a request with another body.")
        return ReplayStored(
            StoredResponse(status, orjson.loads(headers), self._seal.decrypt(body) if self._seal else body)
        )

    async def finish(self, db: Database, answer: StoredResponse) -> None:
        """Store the response, in the statement that writes the rest of the transaction's last rows."""
        body = self._seal.encrypt(answer.body) if self._seal else answer.body
        headers = orjson.dumps(answer.headers).decode()
        row = (self._caller_key, self._digest, self._fingerprint, answer.status, headers, body)
        await defer_insert(db, ANSWERS, row)


def is_key_conflict(error: asyncpg.IntegrityConstraintViolationError) -> bool:
    """Whether a statement was broken off because an earlier attempt under its key is running or has its answer."""
    return error.table_name == ANSWERS.table


def fingerprint_of(method: str, target: str, body: bytes) -> bytes:
    digest = hashlib.sha256(f"{method} {target}\0".encode())
    digest.update(body)  # without a copy of it, and without holding the interpreter
    return digest.digest()


async def delete_expired(db: Database) -> None:
    """Remove the answers that need not be repeated any more."""
    await db.execute("delete from idempotency where created_at < clock_timestamp() - $1::interval", RETENTION)
