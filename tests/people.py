"""Organisations and signed-in people for tests, put into the database directly so that no test waits for a password."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from random import randrange
from time import monotonic
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from gridloom.kernel.ids import OrganisationID, SessionID, UserID, uuid7
from gridloom.platform.http.caller import Caller
from gridloom.platform.identity.model import Account, Member, Organisation, new_organisation
from gridloom.platform.identity.permissions import OrganisationKind, Role
from gridloom.platform.identity.tokens import (
    REFRESH_LIFETIME,
    SigningKey,
    hash_of,
    new_refresh_token,
    sign_access_token,
)

if TYPE_CHECKING:
    import httpx2
    from tests.clients import PersonClient

    from gridloom.platform.database.pool import Connection, Pool
    from gridloom.platform.http.application import Application
    from gridloom.platform.identity.login.sessions import TokenPair

# httpx2 asks at every request without a network whether trio runs, by a package that is not installed here. None says
# so at once; looking for it along the whole path takes a tenth of a millisecond.
sys.modules.setdefault("sniffio", None)  # type: ignore[arg-type]

PASSWORD = "harbour-spindle-ochre-71"
OPERATOR_USERNAME = "operator"
RENEWED_AFTER_S = 300


@cache
def hash_cheaply() -> Any:
    """From now on a password in this process costs next to nothing, where every service that starts and every sign-in
    hashes one. Returns the hasher of a real service, which tests of passwords put back."""
    from argon2 import PasswordHasher

    from gridloom.platform.identity.login import passwords

    genuine = passwords._ARGON2
    passwords._ARGON2 = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)  # type: ignore[misc]
    return genuine


@cache
def password_hash() -> str:
    from gridloom.platform.identity.login.passwords import hash_blocking

    hash_cheaply()
    return hash_blocking(PASSWORD)


@dataclass(frozen=True)
class Person:
    """A member with a client that is signed in as them."""

    member: Member
    tokens: TokenPair
    client: PersonClient

    @property
    def id(self) -> UUID:
        return self.member.id

    @property
    def username(self) -> str:
        return self.member.username


@dataclass(frozen=True)
class OrganisationUnderTest:
    """An organisation with one person per role; `.admin`, `.trader` … are their clients."""

    id: OrganisationID
    name: str
    people: dict[Role, Person]

    @property
    def admin(self) -> PersonClient:
        return self.people[Role.ADMIN].client

    @property
    def trader(self) -> PersonClient:
        return self.people[Role.TRADER].client

    @property
    def engineer(self) -> PersonClient:
        return self.people[Role.ENGINEER].client

    @property
    def viewer(self) -> PersonClient:
        return self.people[Role.VIEWER].client


def client_of(edge: Application, token: str | None = None, address: str | None = None) -> PersonClient:
    """A client without a network in between; each comes from an address of its own unless one is given."""
    import httpx2
    from tests.clients import PersonClient

    headers = {"Authorization": f"Bearer {token}"} if token else {}
    peer = (address or f"10.{randrange(256)}.{randrange(256)}.{randrange(1, 255)}", 50_000)
    transport = httpx2.ASGITransport(app=edge, raise_app_exceptions=False, client=peer)  # type: ignore[arg-type]
    return PersonClient(transport=transport, base_url="http://gridloom.test", headers=headers, trust_env=False)


async def make_operator(pool: Pool) -> None:
    """Where there is no organisation yet."""
    from gridloom.platform.identity.bootstrap import bootstrap_operator

    await bootstrap_operator(pool, OPERATOR_USERNAME, PASSWORD)


class People:
    """Makes organisations and people on one service; leaving it closes their clients."""

    def __init__(self, edge: Application) -> None:
        self.edge = edge
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> People:
        hash_cheaply()
        await make_operator(self.edge.pool)
        return self

    async def __aexit__(self, *_: Any) -> None:
        await self._stack.aclose()

    async def sign_in(self, account: Account, db: Connection | None = None) -> Person:
        """`db`: in a transaction under way."""
        return await self._introduce(account, await self._begin_session(account, db))

    async def _introduce(self, account: Account, tokens: TokenPair) -> Person:
        client = await self._stack.enter_async_context(client_of(self.edge, tokens.access))
        client.event_hooks["request"] = [self._renewing(client, account)]
        return Person(account.member, tokens, client)

    async def _begin_session(self, account: Account, db: Connection | None = None) -> TokenPair:
        from gridloom.platform.identity.login.sessions import begin_session
        from gridloom.platform.identity.signing_key_cache import SigningKeyCache

        key = await self.edge.resources[SigningKeyCache].for_signing()
        if db is not None:
            tokens = await begin_session(db, key, account)
        else:
            async with self.edge.pool.acquire() as connection, connection.transaction():
                tokens = await begin_session(connection, key, account)
        assert tokens is not None
        return tokens

    def _renewing(self, client: httpx2.AsyncClient, account: Account) -> Callable[[httpx2.Request], Awaitable[None]]:
        """Some people live as long as all tests together, which may be longer than their token."""
        signed_in_s, ours = monotonic(), client.headers["Authorization"]

        async def renew(request: httpx2.Request) -> None:
            nonlocal signed_in_s, ours
            if monotonic() - signed_in_s > RENEWED_AFTER_S and request.headers.get("Authorization") == ours:
                signed_in_s, ours = monotonic(), f"Bearer {(await self._begin_session(account)).access}"
                client.headers["Authorization"] = request.headers["Authorization"] = ours

        return renew

    async def operator(self) -> Person:
        """The operator's first ADMIN."""
        from gridloom.platform.identity.store.members import find_account

        account = await find_account(self.edge.pool, OPERATOR_USERNAME)
        assert account is not None
        return await self.sign_in(account)

    async def add_member(self, organisation_id: UUID, role: Role, db: Connection | None = None) -> Person:
        from gridloom.platform.identity.store.members import insert_member

        member = await insert_member(
            db or self.edge.pool,
            member_id=UserID(uuid7()),
            organisation_id=organisation_id,
            username=f"{role.lower()}-{uuid7().hex}",
            display_name=f"{role.title()} under test",
            role=role,
            password_hash=password_hash(),
        )
        assert member is not None
        return await self.sign_in(Account(member, password_hash()), db)

    async def new_organisation(
        self, name: str = "Organisation under test", kind: OrganisationKind | str = OrganisationKind.PARTICIPANT
    ) -> OrganisationUnderTest:
        """Its people come by three statements, since most tests begin with one: by themselves each takes seven."""
        from gridloom.platform.identity.signing_key_cache import SigningKeyCache
        from gridloom.platform.identity.store.organisations import insert_organisation

        organisation = new_organisation(name, OrganisationKind(kind))
        members = [_new_member(organisation, role) for role in Role]
        refresh_tokens, session_ids = [new_refresh_token() for _ in members], [SessionID(uuid7()) for _ in members]
        key = await self.edge.resources[SigningKeyCache].for_signing()
        async with self.edge.pool.acquire() as db, db.transaction():
            await insert_organisation(db, organisation)
            rows = [(one.id, organisation.id, one.username, one.display_name, one.role) for one in members]
            await db.execute(_INSERT_MEMBERS, *zip(*rows, strict=True), password_hash())
            now = await db.fetchval(_INSERT_SESSIONS, session_ids, [one.id for one in members], REFRESH_LIFETIME)
            await db.execute(_INSERT_TOKENS, [hash_of(one) for one in refresh_tokens], session_ids, REFRESH_LIFETIME)
        people = {
            member.role: await self._introduce(
                Account(member, password_hash()), _issue_tokens(key, member, session_id, refresh_token, now)
            )
            for member, session_id, refresh_token in zip(members, session_ids, refresh_tokens, strict=True)
        }
        return OrganisationUnderTest(organisation.id, name, people)


_INSERT_MEMBERS = """
insert into member (id, organisation_id, username, display_name, role, password_hash)
select *, $6 from unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[])
"""
_INSERT_SESSIONS = """
with begun as (
  insert into session (id, expires_at, sign_in_method, member_id)
  select id, clock_timestamp() + $3::interval, 'PASSWORD', member_id
  from unnest($1::uuid[], $2::uuid[]) as given(id, member_id)
  returning created_at
)
select min(created_at) from begun
"""
_INSERT_TOKENS = """
insert into refresh_token (token_hash, session_id, expires_at)
select *, clock_timestamp() + $3::interval from unnest($1::bytea[], $2::uuid[])
"""


def _new_member(organisation: Organisation, role: Role) -> Member:
    return Member(
        id=UserID(uuid7()),
        organisation_id=organisation.id,
        organisation_kind=organisation.kind,
        username=f"{role.lower()}-{uuid7().hex}",
        display_name=f"{role.title()} under test",
        role=role,
        version=1,
        created_at=organisation.created_at,
    )


def _issue_tokens(
    key: SigningKey, member: Member, session_id: SessionID, refresh_token: str, now: datetime
) -> TokenPair:
    from gridloom.platform.identity.login.sessions import TokenPair

    caller = Caller(
        id=member.id,
        kind="USER",
        organisation_id=member.organisation_id,
        organisation_kind=member.organisation_kind,
        role=member.role,
        permissions=frozenset(member.permissions),
        session_id=session_id,
        username=member.username,
        display_name=member.display_name,
    )
    access = sign_access_token(
        key, user_id=member.id, session_id=session_id, organisation_id=member.organisation_id, issued_at=now
    )
    return TokenPair(access, refresh_token, caller)


NOTICE_TIMEOUT_S: Final = 45
"""A change of somebody's rights reaches all workers by a notice, in milliseconds unless all is busy. What no notice
reaches is forgotten after a minute: a test that waits as long as that passes without any."""


async def wait_for_status(
    client: httpx2.AsyncClient, status: int, path: str = "/auth/me", headers: dict[str, str] | None = None
) -> None:
    """Until the service answers so."""
    async with asyncio.timeout(NOTICE_TIMEOUT_S):
        while (await client.get(path, headers=headers)).status_code != status:
            await asyncio.sleep(0.02)
