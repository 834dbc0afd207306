"""Credentials in the database: what holds until it ends or is spent, whose it is, and what goes with it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import pytest
from tests.people import OrganisationUnderTest, client_of

from gridloom.kernel.ids import SessionID, UserID
from gridloom.kernel.networks import parse_network
from gridloom.kernel.permission import Permission
from gridloom.platform.database.sealing import Seal
from gridloom.platform.http.application import Application
from gridloom.platform.identity.model import Session, SessionEnd, SessionKind, SignInMethod
from gridloom.platform.identity.permissions import Role
from gridloom.platform.identity.store import grants, identity_providers, members, second_factors, sessions, signing_keys
from gridloom.platform.identity.store.api_keys import holder_of_key
from gridloom.platform.identity.store.login_throttle import is_known_network, store_known_network
from gridloom.platform.identity.store.retention import delete_expired
from gridloom.platform.identity.tokens import hash_of
from gridloom.platform.identity.views import view_of_session

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


class TestASession:
    async def test_is_nobody_s_once_its_time_is_over(self, app: Application, ours: OrganisationUnderTest) -> None:
        member_id = ours.people[Role.TRADER].id
        session_id = await begin(app, member_id)
        for is_live in (True, False):
            assert (await sessions.find_session_owner(app.pool, session_id) == member_id) is is_live
            assert (await sessions.find_live_session(app.pool, session_id, member_id) is not None) is is_live
            await app.pool.execute(f"update session set expires_at = {OVER} where id = $1", session_id)

    async def test_ends_once_and_for_the_first_reason(self, app: Application, ours: OrganisationUnderTest) -> None:
        session_id = await begin(app, ours.people[Role.TRADER].id)
        assert await sessions.end_session(app.pool, session_id, SessionEnd.LOGOUT)
        assert not await sessions.end_session(app.pool, session_id, SessionEnd.ENDED_BY_USER)
        cause = await app.pool.fetchval("select ended_because from session where id = $1", session_id)
        assert cause == "LOGOUT"

    async def test_that_began_at_a_provider_needs_no_second_factor_of_ours(
        self, app: Application, ours: OrganisationUnderTest
    ) -> None:
        await app.pool.execute("update organisation set require_second_factor = true where id = $1", ours.id)
        member_id = ours.people[Role.TRADER].id
        for method in (SignInMethod.PASSWORD, SignInMethod.SINGLE_SIGN_ON):
            found = await sessions.find_live_session(app.pool, await begin(app, member_id, method), member_id)
            assert found is not None
            assert found.caller.must_enrol is (method is SignInMethod.PASSWORD)

    async def test_of_long_ago_stays_while_it_is_used(self, app: Application, ours: OrganisationUnderTest) -> None:
        member_id = ours.people[Role.TRADER].id
        session_id = await begin(app, member_id)
        await app.pool.execute(
            "update session set created_at = created_at - interval '90 days' where id = $1", session_id
        )
        await delete_expired(app.pool)
        assert await sessions.find_session_owner(app.pool, session_id) == member_id

    def test_is_shown_with_the_network_it_was_begun_from(self) -> None:
        now = datetime(2026, 1, 1, tzinfo=UTC)
        for address, network in (("2001:db8::7:1", "2001:db8::/64"), ("192.0.2.7", "192.0.2.7"), (None, None)):
            one = Session(SessionID(UUID(int=1)), UserID(UUID(int=2)), SessionKind.TOKEN, now, now, address, "Browser")
            shown = view_of_session(one, UUID(int=1))
            assert (shown.network, shown.current) == (network, True)


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


class TestAnAddressOfAUser:
    async def test_is_theirs_for_thirty_days_from_the_last_sign_in(
        self, app: Application, ours: OrganisationUnderTest
    ) -> None:
        """However often and how long ago they signed in from there before; and nobody else's."""
        user, other = (ours.people[role].id for role in (Role.TRADER, Role.VIEWER))

        async def find_known() -> list[bool]:
            asked = ((user, "192.0.2.7"), (user, "192.0.2.8"), (other, "192.0.2.7"))
            return [await is_known_network(app.pool, *one) for one in asked]

        for days_ago, is_theirs in ((29, True), (31, False), (29, True)):
            await store_known_network(app.pool, user, "192.0.2.7")
            assert await find_known() == [True, False, False]
            await app.pool.execute(
                "update sign_in_network set last_at = last_at - make_interval(days => $2) where member_id = $1",
                *(user, days_ago),
            )
            assert await find_known() == [is_theirs, False, False]


class TestAMember:
    async def test_must_use_a_provider_that_is_required_unless_an_admin(
        self, app: Application, ours: OrganisationUnderTest, new_organisation: Any
    ) -> None:
        """By name, as one who signs in, and by id."""
        others = await new_organisation()
        for organisation, is_required in ((ours, False), (others, True), (ours, True)):
            await app.pool.execute(
                """
                insert into identity_provider (organisation_id, issuer, client_id, sealed_client_secret, domains,
                                               required)
                values ($1, 'https://example.org', 'gridloom', '', '{example.org}', $2)
                on conflict (organisation_id) do update set required = excluded.required
                """,
                *(organisation.id, is_required),
            )
            for role in (Role.ADMIN, Role.TRADER):
                person = ours.people[role]
                by_id = await members.read_account(app.pool, person.id)
                assert by_id is not None
                assert by_id == await members.find_account(app.pool, person.username)
                is_meant = organisation is ours and is_required and role is not Role.ADMIN
                assert by_id.must_use_single_sign_on is is_meant

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


class TestASubject:
    async def test_is_bound_at_its_own_issuer_alone(self, app: Application, ours: OrganisationUnderTest) -> None:
        member_id = UserID(ours.people[Role.TRADER].id)
        await identity_providers.bind_member(app.pool, ours.id, "https://one.example", "ada", member_id)
        for issuer, found in (("https://one.example", member_id), ("https://other.example", None)):
            assert await identity_providers.find_bound_member(app.pool, ours.id, issuer, "ada") == found


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


class TestTheHolderOfAKey:
    async def test_is_known_by_the_key_its_creator_and_the_networks_of_both(
        self, app: Application, ours: OrganisationUnderTest
    ) -> None:
        person = ours.people[Role.TRADER]
        wish = {"name": "Gateway", "permissions": ["Create:bids"], "allowedNetworks": ["192.0.2.0/25"]}
        made = (await person.client.post("/auth/api-keys", json=wish)).json()
        await app.pool.execute("update organisation set allowed_networks = '{192.0.2.0/24}' where id = $1", ours.id)
        found = await holder_of_key(app.pool, hash_of(made["secret"]))
        assert found is not None
        caller = found.caller
        assert (str(caller.id), found.member_id) == (made["id"], person.id)
        assert (caller.username, caller.display_name, caller.role) == (person.username, "Gateway", "TRADER")
        assert caller.organisation_id == ours.id
        assert set(caller.permissions) == {"Create:bids"}
        assert caller.allowed_networks == ((parse_network("192.0.2.0/24"),), (parse_network("192.0.2.0/25"),))
        assert caller.physical_asset_ids is None
        assert 364 * 86_400 < found.lasts_s <= 365 * 86_400

    async def test_of_an_earlier_release_is_nobody_after_a_year(
        self, app: Application, ours: OrganisationUnderTest
    ) -> None:
        wish = {"name": "Gateway", "permissions": ["Read:monitoring"]}
        made = (await ours.admin.post("/auth/api-keys", json=wish)).json()
        for days, status in ((364, 200), (366, 401)):
            await app.pool.execute(
                "update api_key set expires_at = null, created_at = clock_timestamp() - make_interval(days => $2)"
                " where id = $1",
                *(made["id"], days),
            )
            assert (await holder_of_key(app.pool, hash_of(made["secret"])) is not None) is (status == 200)
        async with client_of(app, made["secret"]) as machine:
            assert (await machine.get("/auth/me")).status_code == 401


class TestASigningKey:
    async def test_is_made_where_none_lasts(self, app: Application) -> None:
        seal = Seal(None, "signing-key")
        async with app.pool.acquire() as db:
            await (undone := db.transaction()).start()
            await signing_keys.lock_signing_keys(db)
            before = await db.fetchval("select count(*) from signing_key")
            await db.execute("update signing_key set verifies_until = clock_timestamp() + interval '1 hour'")
            counts = []
            for _ in range(2):
                await signing_keys.ensure_signing_key(db, seal)
                counts.append(await db.fetchval("select count(*) from signing_key") - before)
            await undone.rollback()
        assert counts == [1, 1]
