"""Logins and their continuation: a pair of tokens for a checked password or an unspent refresh token."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from gridloom.kernel.ids import SessionID, uuid7
from gridloom.platform.database.pool import Database
from gridloom.platform.http.caller import Caller
from gridloom.platform.identity.model import Account, SignInMethod
from gridloom.platform.identity.store import sessions as store
from gridloom.platform.identity.tokens import SigningKey, hash_of, new_refresh_token, sign_access_token


@dataclass(frozen=True, slots=True)
class TokenPair:
    access: str
    refresh: str
    caller: Caller


async def begin_session(
    db: Database,
    key: SigningKey,
    account: Account,
    *,
    address: str | None = None,
    user_agent: str | None = None,
    method: SignInMethod = SignInMethod.PASSWORD,
    is_password_checked: bool = True,
) -> TokenPair | None:
    """Open a session for a member whose password has been checked; None when it has changed since.

    is_password_checked: False where the caller has locked the member and checked something that ends with the password,
    or signs the member in by another method.
    """
    member = account.member
    refresh = new_refresh_token()
    session = await store.begin_session(
        db,
        SessionID(uuid7()),
        member_id=member.id,
        password_hash=account.password_hash if is_password_checked else None,
        refresh_hash=hash_of(refresh),
        address=address,
        user_agent=user_agent,
        method=method,
    )
    if session is None:
        return None
    return await _issue_pair(db, key, session.id, member.id, refresh, session.began_at)


async def continue_session(db: Database, key: SigningKey, session_id: SessionID, member_id: UUID) -> TokenPair | None:
    """The next pair of a session whose refresh token has just been spent; None when it ended at the same instant."""
    refresh = new_refresh_token()
    session = await store.continue_session(db, session_id, hash_of(refresh))
    return await _issue_pair(db, key, session.id, member_id, refresh, session.began_at)


async def _issue_pair(
    db: Database, key: SigningKey, session_id: SessionID, member_id: UUID, refresh: str, now: datetime
) -> TokenPair | None:
    session = await store.find_live_session(db, session_id, member_id)
    if session is None:
        return None
    caller = session.caller
    access = sign_access_token(
        key,
        user_id=member_id,
        session_id=session_id,
        organisation_id=caller.organisation_id,
        issued_at=now,
    )
    return TokenPair(access, refresh, caller)
