"""The sandbox operator's made-up password, kept in the sandbox's home so that every start can print it."""

from __future__ import annotations

from pathlib import Path

import msgspec

from gridloom.platform.database.pool import create_pool
from gridloom.platform.identity.bootstrap import Bootstrap
from gridloom.platform.identity.login.passwords import PasswordHasher
from gridloom.platform.identity.store.members import find_account
from gridloom.settings import Settings

FILE = "operator.json"


class OperatorSignIn(msgspec.Struct):
    username: str
    password: str


async def recall_operator(settings: Settings, bootstrap: Bootstrap | None) -> Bootstrap | None:
    """The password generated at this start, which is stored, or at an earlier one, where it is still valid."""
    if bootstrap is not None:
        if bootstrap.is_made_up:
            _write_sign_in(settings.home, OperatorSignIn(bootstrap.username, bootstrap.password))
        return bootstrap
    stored = _read_sign_in(settings.home)
    if stored is None:
        return None
    assert settings.database_url is not None
    async with await create_pool(settings.database_url, size=1) as pool:
        account = await find_account(pool, stored.username)
    hasher = PasswordHasher()
    try:
        if account is None or not await hasher.verify(stored.password, account.password_hash):
            return None
    finally:
        hasher.close()
    member = account.member
    return Bootstrap(member.organisation_id, member.id, stored.username, stored.password, is_made_up=True)


def _read_sign_in(home: Path) -> OperatorSignIn | None:
    try:
        return msgspec.json.decode((home / FILE).read_bytes(), type=OperatorSignIn)
    except (FileNotFoundError, msgspec.DecodeError):
        return None


def _write_sign_in(home: Path, sign_in: OperatorSignIn) -> None:
    home.mkdir(parents=True, exist_ok=True)
    partial = home / f".{FILE}.partial"
    partial.touch(mode=0o600)
    partial.write_bytes(msgspec.json.encode(sign_in))
    partial.replace(home / FILE)
