"""Whom an identity provider's answer lets in, and as whom; on the real database, without a provider."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from tests.people import OrganisationUnderTest, People

from gridloom.kernel.ids import InvitationID, uuid7
from gridloom.platform.http.application import Application
from gridloom.platform.identity.mail import Mailer
from gridloom.platform.identity.model import Account, InvitationStatus
from gridloom.platform.identity.permissions import Role
from gridloom.platform.identity.single_sign_on.model import ExternalPerson, IdentityProvider, SignOnAttempt
from gridloom.platform.identity.single_sign_on.sign_in import PersonRefused, find_or_admit_member
from gridloom.platform.identity.store import identity_providers, invitations
from gridloom.platform.identity.store.organisations import read_author_names

ISSUER = "https://login.example"


@pytest.fixture
async def ours(new_organisation: Any) -> OrganisationUnderTest:
    made: OrganisationUnderTest = await new_organisation()
    return made


def provider_of(ours: OrganisationUnderTest, **more: Any) -> IdentityProvider:
    given: dict[str, Any] = {"role_claim": "roles", "default_role": Role.VIEWER, "required": False, **more}
    return IdentityProvider(ours.id, ISSUER, "gridloom", b"", (f"{ours.id}.example",), **given)


def person_of(ours: OrganisationUnderTest, name: str | None = "Ada Lovelace", **claims: Any) -> ExternalPerson:
    return ExternalPerson(ISSUER, f"ada of {ours.id}", f"Ada@{ours.id}.example", name, claims)


async def admit(app: Application, provider: IdentityProvider, person: ExternalPerson) -> Account:
    async with app.pool.acquire() as connection, connection.transaction():
        return await find_or_admit_member(connection, Mailer(None, ""), provider, person)


async def invite(app: Application, ours: OrganisationUnderTest, email: str | None, role: Role) -> UUID:
    made = await invitations.put_invitation(
        app.pool,
        invitation_id=InvitationID(uuid7()),
        organisation_id=ours.id,
        email=email or "",
        role=role,
        token_hash=uuid7().bytes * 2,
        invited_by=ours.people[Role.ADMIN].id,
    )
    return made.id


class TestWhoComesForTheFirstTime:
    async def test_has_a_name_that_fits(self, app: Application, new_organisation: Any) -> None:
        for name, shown in (
            ("  Ada \t King ", "Ada King"),
            ("x" * 201, "x" * 200),
            ("Ada\u202eKing", None),
            ("", None),
            (None, None),
        ):
            ours = await new_organisation()
            person = person_of(ours, name)
            assert (await admit(app, provider_of(ours), person)).member.display_name == (shown or person.email)

    async def test_accepts_the_latest_invitation_that_is_still_good(
        self, app: Application, ours: OrganisationUnderTest
    ) -> None:
        person = person_of(ours)
        email = (person.email or "").upper()
        revoked = await invite(app, ours, email, Role.TRADER)
        await invitations.revoke_invitation(app.pool, InvitationID(revoked))
        good = await invite(app, ours, email, Role.ENGINEER)
        expire = "update invitation set expires_at = clock_timestamp() - interval '1 ms' where id = $1"
        await app.pool.execute(expire, good)
        with pytest.raises(PersonRefused, match="no pending invitation"):
            await admit(app, provider_of(ours, default_role=None), person)
        assert await invite(app, ours, email.lower(), Role.TRADER) == good, "it is renewed"
        assert (await admit(app, provider_of(ours), person)).member.role is Role.TRADER
        found = await invitations.list_invitations(app.pool, ours.id, after=None, limit=9)
        assert {one.id: one.status for one in found} == {
            good: InvitationStatus.ACCEPTED,
            revoked: InvitationStatus.REVOKED,
        }

    async def test_is_refused_with_the_reason(
        self, app: Application, ours: OrganisationUnderTest, new_organisation: Any
    ) -> None:
        person, provider = person_of(ours), provider_of(ours, default_role=None)
        await invite(app, await new_organisation(), person.email, Role.ADMIN)
        for unknown, reason in (
            (replace(person, email=None), "the provider has not verified an e-mail address"),
            (replace(person, email="ada@elsewhere.example"), "the e-mail address is not of a domain of the provider"),
            (person, "the person is no member and has no pending invitation"),
        ):
            with pytest.raises(PersonRefused, match=reason):
                await admit(app, provider, unknown)
        for role in (Role.TRADER, Role.VIEWER):
            member_id = ours.people[role].id
            await app.pool.execute("update member set email = $2 where id = $1", member_id, person.email)
        with pytest.raises(PersonRefused, match="several members have this e-mail address"):
            await admit(app, provider_of(ours), person)
        assert await app.pool.fetchval("select count(*) from member where organisation_id = $1", ours.id) == len(Role)

    async def test_is_bound_to_one_subject_of_one_issuer_in_one_organisation(
        self, app: Application, ours: OrganisationUnderTest, new_organisation: Any
    ) -> None:
        person = person_of(ours)
        member = (await admit(app, provider_of(ours), person)).member
        moved = replace(person, email="grace@elsewhere.example")
        assert (await admit(app, provider_of(ours), moved)).member == member, "the subject counts, not the address"
        with pytest.raises(PersonRefused, match="bound to another subject"):
            await admit(app, provider_of(ours), replace(person, subject="another"))
        theirs = await new_organisation()
        same = replace(person_of(theirs), subject=person.subject)
        assert (await admit(app, provider_of(theirs), same)).member.organisation_id == theirs.id


class TestTheRoleOfAClaim:
    async def test_counts_at_every_sign_in_and_spares_the_last_admin(
        self, app: Application, ours: OrganisationUnderTest, people: People
    ) -> None:
        provider, admin = provider_of(ours), ours.people[Role.ADMIN]
        await app.pool.execute("update member set email = $2 where id = $1", admin.id, person_of(ours).email or "")
        assert (await admit(app, provider, person_of(ours, roles=["viewer"]))).member.role is Role.ADMIN
        await people.add_member(ours.id, Role.ADMIN)
        changed = (await admit(app, provider, person_of(ours, roles=["viewer", "TRADER"]))).member
        assert (changed.id, changed.role, changed.version) == (admin.id, Role.TRADER, 2)
        unchanged: tuple[dict[str, Any], ...] = ({}, {"roles": []}, {"groups": ["admin"]}, {"roles": ["trader"]})
        for claims in unchanged:
            assert (await admit(app, provider, person_of(ours, **claims))).member == changed
        without = replace(provider, role_claim=None)
        assert (await admit(app, without, person_of(ours, roles=["admin"]))).member == changed


class TestTheSettingsOfAProvider:
    async def test_are_refused_where_they_are_wrong(self, ours: OrganisationUnderTest) -> None:
        path = f"/organisations/{ours.id}/identity-provider"
        good = {"issuer": ISSUER, "clientID": "gridloom", "clientSecret": "s", "domains": ["example.org"]}
        changes: tuple[tuple[dict[str, Any], list[str]], ...] = (
            ({"issuer": f"{ISSUER}/?tenant=7"}, ["/issuer"]),
            (
                {"domains": ["example.org", "localhost", "a_b.example", "-.example"]},
                [f"/domains/{n}" for n in (1, 2, 3)],
            ),
            ({"clientSecret": None}, ["/clientSecret"]),
            ({"clientSecret": None, "domains": ["nowhere"]}, ["/domains/0", "/clientSecret"]),
        )
        for change, pointers in changes:
            refused = await ours.admin.put(path, json=good | change)
            assert (refused.status_code, [one["pointer"] for one in refused.json()["errors"]]) == (400, pointers)
        assert (await ours.admin.get(path)).status_code == 404
        assert (await ours.admin.delete(path)).status_code == 404
        stored = await ours.admin.put(path, json=good | {"roleClaim": "roles", "defaultRole": "TRADER"})
        assert stored.json() == {
            **{name: good[name] for name in ("issuer", "clientID", "domains")},
            **{"required": False, "roleClaim": "roles", "defaultRole": "TRADER"},
        }
        without = {name: good[name] for name in good if name != "clientSecret"}
        kept = await ours.admin.put(path, json=without | {"required": True})
        assert kept.json() == stored.json() | {"required": True, "roleClaim": None, "defaultRole": None}
        for other in ({"issuer": "https://another.example"}, {"clientID": "another"}):
            refused = await ours.admin.put(path, json=without | other)
            assert [one["pointer"] for one in refused.json()["errors"]] == ["/clientSecret"]


class TestAProviderThatTheOperatorSets:
    async def test_is_that_of_the_organisation_it_is_set_for(
        self, operator: Any, ours: OrganisationUnderTest, new_organisation: Any
    ) -> None:
        body = {"issuer": ISSUER, "clientID": "gridloom", "clientSecret": "s", "domains": ["example.org"]}
        path, other = f"/organisations/{ours.id}/identity-provider", await new_organisation()
        stored = await operator.put(path, json=body)
        assert stored.status_code == 200, stored.text
        for reader in (ours.admin, operator):
            assert (await reader.get(path)).json() == stored.json()
        assert (await other.admin.get(f"/organisations/{other.id}/identity-provider")).status_code == 404
        assert (await other.admin.put(path, json=body)).status_code == 403
        assert (await other.admin.delete(path)).status_code == 403
        assert (await operator.delete(path)).status_code == 204
        assert (await ours.admin.get(path)).status_code == 404


class TestAProviderThatIsRequired:
    async def test_from_its_first_day_ends_what_was_begun_with_a_password(
        self, app: Application, ours: OrganisationUnderTest
    ) -> None:
        """As where it becomes required later, and of all but ADMINs."""
        body = {"issuer": ISSUER, "clientID": "gridloom", "clientSecret": "s", "domains": ["example.org"]}
        path = f"/organisations/{ours.id}/identity-provider"
        assert (await ours.admin.put(path, json=body | {"required": True})).status_code == 200
        ended = {
            role: await app.pool.fetchval(
                "select ended_because from session where id = $1", person.tokens.caller.session_id
            )
            for role, person in ours.people.items()
        }
        assert ended == {role: None if role is Role.ADMIN else "PASSWORDS_DISALLOWED" for role in ours.people}


class TestASignInThatIsUnderWay:
    async def test_comes_back_once_in_time_and_to_its_own_browser(
        self, app: Application, ours: OrganisationUnderTest
    ) -> None:
        """What comes back with it is what it began with, though others are under way."""
        states = [uuid7().bytes for _ in range(3)]
        begun = {
            state: SignOnAttempt(ours.id, f"{ISSUER}/{n}", f"nonce {n}", f"verifier {n}", b"browser", f"/{n}", f"c{n}")
            for n, state in enumerate(states)
        }
        for state, attempt in begun.items():
            await identity_providers.insert_attempt(app.pool, state, attempt)
        late = "update single_sign_on_attempt set expires_at = expires_at - $2::interval where state_hash = $1"
        for state, passed in ((states[1], timedelta(minutes=9, seconds=30)), (states[2], timedelta(minutes=10))):
            await app.pool.execute(late, state, passed)
        assert await identity_providers.spend_attempt(app.pool, states[0], b"another") is None
        for state, is_in_time in zip(states, (True, True, False), strict=True):
            found = [await identity_providers.spend_attempt(app.pool, state, b"browser") for _ in range(2)]
            assert found == [begun[state] if is_in_time else None, None]


class TestTheNameOfAnOrganisation:
    async def test_leads_to_it_where_no_other_has_the_same(self, app: Application, new_organisation: Any) -> None:
        """In any case; of two that have it, which one is meant is not known."""
        name = f"Rhine {uuid7()}"
        ours, others = await new_organisation(name), await new_organisation(f"{name} & Sons")
        assert await identity_providers.find_organisation_named(app.pool, name.upper()) == ours.id
        await app.pool.execute("update organisation set name = $2 where id = $1", others.id, name.lower())
        assert await identity_providers.find_organisation_named(app.pool, name) is None


class TestARemovedProvider:
    async def test_lets_no_sign_in_come_back_that_was_under_way(
        self, app: Application, ours: OrganisationUnderTest, new_organisation: Any
    ) -> None:
        others = await new_organisation()
        for one in (ours, others):
            await identity_providers.put_provider(app.pool, provider_of(one))
            attempt = SignOnAttempt(one.id, ISSUER, "n", "v", b"browser", "/console/", None)
            await identity_providers.insert_attempt(app.pool, one.id.bytes, attempt)
        await identity_providers.delete_provider(app.pool, ours.id)
        assert await identity_providers.find_provider(app.pool, others.id) is not None
        await identity_providers.put_provider(app.pool, provider_of(ours))
        assert await identity_providers.spend_attempt(app.pool, ours.id.bytes, b"browser") is None
        assert await identity_providers.spend_attempt(app.pool, others.id.bytes, b"browser") is not None


class TestTheNamesOfAuthors:
    async def test_are_those_of_members_and_of_their_keys_within_an_organisation_or_everywhere(
        self, app: Application, ours: OrganisationUnderTest, new_organisation: Any
    ) -> None:
        theirs, names = await new_organisation(), dict[UUID, dict[UUID, str]]()
        for one in (ours, theirs):
            trader = one.people[Role.TRADER]
            wanted = {"name": f"Gateway of {one.id}", "permissions": ["Read:monitoring"]}
            key_id = UUID((await trader.client.post("/auth/api-keys", json=wanted)).json()["id"])
            name = f"Trader of {one.id}"
            await app.pool.execute("update member set display_name = $2 where id = $1", trader.id, name)
            names[one.id] = {trader.id: name, key_id: f"Gateway of {one.id} ({name})"}
        everywhere = names[ours.id] | names[theirs.id]
        assert await read_author_names(app.pool, [*everywhere, uuid7()]) == everywhere
        assert await read_author_names(app.pool, [*everywhere, uuid7()], within=ours.id) == names[ours.id]
