"""Credentials in the database: what holds until it ends or is spent, whose it is, and what goes with it."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import pytest
from tests.people import OrganisationUnderTest

from gridloom.kernel.ids import SessionID, UserID
from gridloom.kernel.permission import Permission
from gridloom.platform.http.application import Application
from gridloom.platform.identity.model import SessionEnd, SignInMethod
from gridloom.platform.identity.permissions import Role
from gridloom.platform.identity.store import grants, identity_providers, members, second_factors, sessions
from gridloom.platform.identity.store.retention import delete_expired
from gridloom.platform.identity.tokens import hash_of

OVER = "clock_timestamp() - interval '1 ms'"


@pytest.fixture
async def ours(new_organisation: Any) -> OrganisationUnderTest:
    made: OrganisationUnderTest = await new_organisation()
    return made


async def begin(app: Application, member_id: UUID, method: SignInMethod = SignInMethod.PASSWORD) -> SessionID:
    session_id = SessionID(uuid4())
    given: dict[str, Any] = {"address": None, "user_agent": None, "method": method}
    begun = await sessions.begin_session(
        app.pool, session_id, member_id=member_id, password_hash=None, refresh_hash=uuid4().bytes * 2, **given
    )
    assert begun is not None
    return session_id


class TestAnAttemptThatIsCounted:
    async def test_stays_until_it_has_leaked_out(self, app: Application) -> None:
        subjects = [uuid4().bytes for _ in range(2)]
        for subject, leaks_in in zip(subjects, ("1 hour", "-1 minute"), strict=True):
            await app.pool.execute(
                "insert into login_throttle values ($1, 5, clock_timestamp() - interval '1 hour',"
                " clock_timestamp() + $2::text::interval)",
                *(subject, leaks_in),
            )
        await delete_expired(app.pool)
        rows = await app.pool.fetch("select subject from login_throttle where subject = any($1)", subjects)
        assert [row["subject"] for row in rows] == subjects[:1]


class TestAMember:
    async def test_has_a_second_factor_once_it_is_confirmed(
        self, app: Application, ours: OrganisationUnderTest
    ) -> None:
        person = ours.people[Role.TRADER]
        await second_factors.put_unconfirmed(app.pool, person.id, b"s")
        for is_confirmed in (False, True):
            by_id = await members.read_account(app.pool, person.id)
            assert by_id is not None
            assert by_id.member.has_second_factor is is_confirmed
            given: dict[str, Any] = {"step": 1, "code_hashes": [b"c" * 32]}
            assert not await second_factors.confirm(app.pool, person.id, sealed_secret=b"begun before", **given)
            confirmed = await second_factors.confirm(app.pool, person.id, sealed_secret=b"s", **given)
            assert confirmed is not is_confirmed, "once"
        assert await second_factors.delete_second_factor(app.pool, person.id)
        assert not await second_factors.delete_second_factor(app.pool, person.id)
        assert not await second_factors.spend_recovery_code(app.pool, person.id, b"c" * 32), "none outlives the device"


class TestWhatAMemberGivesUp:
    async def test_is_its_own_and_leaves_a_colleague_all_it_has(
        self, app: Application, ours: OrganisationUnderTest
    ) -> None:
        """Codes to recover, which are neither replaced nor spent by another, the factor, a challenge and a session."""
        one, other = (UserID(ours.people[role].id) for role in (Role.TRADER, Role.VIEWER))
        begun = {}
        for member_id, secret in ((other, b"other"), (one, b"one")):
            await second_factors.put_unconfirmed(app.pool, member_id, secret)
            code, challenge = (hash_of(f"{word} {member_id}") for word in ("code", "challenge"))
            given: dict[str, Any] = {"sealed_secret": secret, "step": 1, "code_hashes": [code]}
            assert await second_factors.confirm(app.pool, member_id, **given)
            await second_factors.insert_challenge(app.pool, challenge, member_id, [])
            begun[member_id] = code, challenge, await begin(app, member_id)
        assert not await second_factors.spend_recovery_code(app.pool, one, begun[other][0])
        await second_factors.delete_challenges(app.pool, one)
        await sessions.end_other_sessions(app.pool, one, kept=uuid4(), cause=SessionEnd.ENDED_BY_USER)
        assert await second_factors.delete_second_factor(app.pool, one)
        for member_id, (code, challenge, session_id) in begun.items():
            found = (
                await second_factors.find_second_factor(app.pool, member_id) is not None,
                await second_factors.find_challenge(app.pool, challenge) is not None,
                await sessions.find_session_owner(app.pool, session_id) is not None,
                await second_factors.spend_recovery_code(app.pool, member_id, code),
            )
            assert found == (member_id == other,) * 4


class TestACodeAndAChallenge:
    async def test_are_not_spent_once_their_time_is_over(self, app: Application, ours: OrganisationUnderTest) -> None:
        member_id = ours.people[Role.TRADER].id
        for is_over in (False, True):
            spent = uuid4().bytes * 2
            await second_factors.insert_challenge(app.pool, spent, member_id, [])
            await identity_providers.insert_code(app.pool, spent, member_id, "c")
            if is_over:
                await app.pool.execute(
                    f"update sign_in_challenge set expires_at = {OVER} where challenge_hash = $1", spent
                )
                await app.pool.execute(
                    f"update single_sign_on_code set expires_at = {OVER} where code_hash = $1", spent
                )
            assert await second_factors.spend_challenge(app.pool, spent) is not is_over
            found = await identity_providers.spend_code(app.pool, spent, "c")
            assert found == (None if is_over else member_id)


class TestAGrant:
    async def test_is_read_and_taken_back_for_one_organisation_alone(
        self, app: Application, ours: OrganisationUnderTest, new_organisation: Any
    ) -> None:
        one, other = [await new_organisation() for _ in range(2)]
        key = await grants.insert_asset(app.pool, uuid4(), "PHYSICAL", ours.id)
        given = {
            holder.id: await grants.put_grant(app.pool, key, holder.id, [permission], uuid4())
            for holder, permission in ((one, Permission.READ_SCHEDULES), (other, Permission.READ_MONITORING))
        }
        for holder in (one, other):
            assert await grants.read_grant(app.pool, key, holder.id) == given[holder.id]
        assert await grants.delete_grant(app.pool, key, other.id)
        assert await grants.list_grants(app.pool, key, after=None, limit=9) == [given[one.id]]
