"""The audit log: complete, visible to whom it concerns, and beyond change."""

from uuid import uuid4

import asyncpg
import pytest
from tests.people import PASSWORD, client_of

from gridloom.platform.audit.model import Actor, NewAuditRecord
from gridloom.platform.audit.recording import insert_entry
from gridloom.platform.identity.permissions import Role


@pytest.fixture
async def organisation(new_organisation):
    return await new_organisation()


async def entries(client, **parameters):
    answer = await client.get(
        "/audit-log", params={name.replace("_", "-"): value for name, value in parameters.items()}
    )
    assert answer.status_code == 200, answer.text
    return answer.json()


class TestAuditLog:
    async def test_says_who_did_what_to_which_resource_when_and_from_where(self, organisation):
        path = f"/organisations/{organisation.id}"
        await organisation.admin.change(path, json={"name": "Renamed"}, headers={"X-Request-Id": "renaming-1"})
        entry = (await entries(organisation.admin))[0]
        admin = organisation.people[Role.ADMIN]
        assert entry["actorID"] == str(admin.id)
        assert entry["actorName"] == admin.username
        assert (entry["organisationID"], entry["organisationName"]) == (str(organisation.id), "Renamed")
        assert entry["actorKind"] == "USER"
        assert entry["action"] == "updateOrganisation"
        assert entry["method"] == "PATCH"
        assert entry["resource"] == path
        assert entry["status"] == 200
        assert entry["requestId"] == "renaming-1"
        assert entry["address"]
        assert entry["time"].endswith("Z")
        assert entry["details"]["after"] == {"name": "Renamed"}
        await organisation.viewer.delete("/auth/sessions")
        assert (await entries(organisation.admin))[0].get("details") is None, "where there is no more to say"

    async def test_names_a_key_with_its_member(self, app, organisation):
        wanted = {"name": "meter", "permissions": ["Manage:organisation"]}
        key = (await organisation.admin.post("/auth/api-keys", json=wanted)).json()
        async with client_of(app, key["secret"]) as machine:
            answer = await machine.change(f"/organisations/{organisation.id}", json={"name": "By a key"})
            assert answer.status_code == 200, answer.text
        entry = (await entries(organisation.admin))[0]
        admin = organisation.people[Role.ADMIN]
        assert (entry["actorKind"], entry["actorID"]) == ("API_KEY", key["id"])
        assert entry["actorName"] == f"meter ({admin.username})"

    async def test_says_nothing_of_changes_that_were_refused(self, organisation):
        await organisation.viewer.change(f"/organisations/{organisation.id}", json={"name": "No"})
        await organisation.admin.change(f"/organisations/{organisation.id}", json={"name": ""})
        assert await entries(organisation.admin) == []

    async def test_has_logins_and_failed_logins_without_passwords(self, app, operator, organisation):
        person = organisation.people[Role.VIEWER]
        mistake = f"my-secret-{uuid4().hex}"
        tried = ((person.username, PASSWORD), (person.username, "wrong-one"), (mistake, "wrong-one"))
        async with client_of(app, address="203.0.113.77") as anonymous:
            for username, password in tried:
                await anonymous.post("/auth/public/authenticate", json={"username": username, "password": password})
        failed, succeeded = await entries(organisation.admin, action="authenticate")
        assert (succeeded["status"], failed["status"]) == (200, 401)
        assert failed["actorID"] == succeeded["actorID"] == str(person.id)
        assert failed["address"] == succeeded["address"] == "203.0.113.77"
        assert failed["requestId"] != succeeded["requestId"]
        whole = (await operator.get("/audit-log")).text
        assert mistake not in whole
        assert PASSWORD not in whole
        assert "wrong-one" not in whole
        unknown = (await entries(operator, action="authenticate"))[0]
        assert (unknown["actorKind"], unknown["actorID"], unknown["organisationID"]) == ("ANONYMOUS", None, None)

    async def test_has_the_reuse_of_a_refresh_token(self, anonymous, organisation):
        token = organisation.people[Role.VIEWER].tokens.refresh
        for _ in range(3):
            await anonymous.post("/auth/public/refresh", json={"refresh_token": token})
        found = await entries(organisation.admin, action="refreshTokens")
        assert [entry["status"] for entry in found] == [401, 200]
        assert found[0]["details"]["reason"] == "refresh token reused"

    async def test_shows_an_organisation_what_the_operator_did_to_it(self, operator, organisation):
        await operator.post(f"/organisations/{organisation.id}/invitations", json={"email": "a@b.c", "role": "ADMIN"})
        found = await entries(organisation.admin)
        assert [entry["action"] for entry in found] == ["createInvitation"]
        assert found[0]["organisationID"] != str(organisation.id)

    async def test_shows_no_other_organisations_entries(self, organisation, new_organisation):
        await organisation.admin.change(f"/organisations/{organisation.id}", json={"name": "Renamed"})
        stranger = await new_organisation()
        assert await entries(stranger.admin) == []
        assert (await stranger.viewer.get("/audit-log")).status_code == 403
        assert await entries(stranger.admin, resource=f"/organisations/{organisation.id}") == []

    async def test_of_bidders_is_sealed_to_the_operator(self, app, operator, organisation):
        admin = organisation.people[Role.ADMIN]
        sealed = ("placeBid", "withdrawBid", "valueAuction")
        for action in (*sealed, "readAuction"):
            actor = Actor("USER", organisation.id, admin.id, admin.username)
            entry = NewAuditRecord(actor, None, action, "POST", "/auctions", 200, None, None, {"a": 1})
            await insert_entry(app.pool, entry)
        shown = [entry["action"] for entry in await entries(operator, actor_id=str(admin.id))]
        assert shown == ["readAuction"]
        own = [entry["action"] for entry in await entries(organisation.admin, actor_id=str(admin.id))]
        assert own == ["readAuction", *reversed(sealed)]

    async def test_can_be_filtered(self, organisation, people):
        path = f"/organisations/{organisation.id}"
        second = await people.add_member(organisation.id, Role.ADMIN)
        await organisation.admin.change(path, json={"name": "One"})
        await second.client.change(path, json={"name": "Two"})
        await second.client.post(f"{path}/invitations", json={"email": "a@b.c", "role": "VIEWER"})
        assert len(await entries(organisation.admin)) == 3
        assert len(await entries(organisation.admin, actor_id=str(second.id))) == 2
        assert len(await entries(organisation.admin, action="updateOrganisation")) == 2
        for resource in (path, f"{path}/"):
            assert len(await entries(organisation.admin, resource=resource)) == 3
        assert len(await entries(organisation.admin, resource=f"{path}/invitations")) == 1
        assert len(await entries(organisation.admin, resource=path[:-1])) == 0
        whole = await entries(organisation.admin)
        middle = whole[1]["time"]  # to the millisecond, in which others may have happened too
        assert await entries(organisation.admin, end=middle) == [one for one in whole if one["time"] < middle]
        assert await entries(organisation.admin, start=middle) == [one for one in whole if one["time"] >= middle]
        refused = await organisation.admin.get("/audit-log", params={"start": middle, "end": middle})
        assert refused.status_code == 400

    async def test_pages_without_skipping_or_repeating_while_it_grows(self, organisation):
        path = f"/organisations/{organisation.id}"
        for number in range(5):
            await organisation.admin.change(path, json={"name": f"Name {number}"})
        expected = [entry["id"] for entry in await entries(organisation.admin)]
        seen, link = [], "/audit-log?limit=2"
        while link:
            page = await organisation.admin.get(link)
            seen += [entry["id"] for entry in page.json()]
            link = page.links.get("next", {}).get("url")
            await organisation.admin.change(path, json={"name": uuid4().hex})
        assert seen == expected

    async def test_and_the_change_stand_or_fall_together(self, app, organisation, monkeypatch):
        async def broken(db, call, status):
            raise asyncpg.DataError("no space for the entry")

        monkeypatch.setattr(app, "audit", broken)
        answer = await organisation.admin.change(f"/organisations/{organisation.id}", json={"name": "Unaudited"})
        assert answer.status_code == 500
        monkeypatch.undo()
        assert (await organisation.admin.get(f"/organisations/{organisation.id}")).json()["name"] != "Unaudited"
