"""Organisations, invitations and members, over HTTP on the real database."""

import asyncio
from uuid import uuid4

import pytest
from tests.people import client_of, wait_for_status

from gridloom.platform.identity.permissions import Role

PASSWORD = "quarry-violet-thimble-9"


@pytest.fixture
async def organisation(new_organisation):
    return await new_organisation("North Storage")


@pytest.fixture
async def stranger(new_organisation):
    return await new_organisation("Stranger")


async def invite(client, organisation, role="VIEWER", email="ada@example.org"):
    return await client.post(f"/organisations/{organisation.id}/invitations", json={"email": email, "role": role})


async def accept(client, token, username=None, password=PASSWORD):
    body = {
        "token": token,
        "username": username or f"u-{uuid4().hex}",
        "password": password,
        "displayName": "Ada",
    }
    return await client.post("/auth/public/invitations/accept", json=body)


class TestANameThatEndsInALineFeed:
    async def test_is_refused(self, anonymous, organisation):
        token = (await invite(organisation.admin, organisation)).json()["token"]
        assert (await accept(anonymous, token, username="operator\n")).status_code == 400
        assert (await invite(organisation.admin, organisation, email="ada@example.org\n")).status_code == 400


class TestOrganisation:
    async def test_is_founded_by_the_operator(self, operator):
        answer = await operator.post("/organisations", json={"name": "New Storage", "kind": "PARTICIPANT"})
        assert answer.status_code == 201
        assert set(answer.json()) == {
            *("id", "name", "kind", "createdAt"),
            *("requireSecondFactor", "maxKeyAgeDays", "allowedNetworks"),
            *("address", "telemetryQuota"),
        }
        assert answer.headers["etag"]
        read = await operator.get(f"/organisations/{answer.json()['id']}")
        assert read.json() == answer.json()

    async def test_is_founded_by_the_operator_alone(self, organisation):
        answer = await organisation.admin.post("/organisations", json={"name": "Mine", "kind": "OPERATOR"})
        assert answer.status_code == 403

    async def test_list_is_whole_for_the_operator_and_own_for_others(self, operator, organisation, stranger):
        own = (await organisation.viewer.get("/organisations")).json()
        assert [item["id"] for item in own] == [str(organisation.id)]
        seen, link = set(), "/organisations?limit=2"
        while link:
            page = await operator.get(link)
            seen |= {item["id"] for item in page.json()}
            link = page.links.get("next", {}).get("url")
        assert {str(organisation.id), str(stranger.id)} <= seen

    async def test_is_seen_by_its_members_and_the_operator_only(self, operator, organisation, stranger):
        path = f"/organisations/{organisation.id}"
        for reader in (organisation.viewer, operator):
            read = await reader.get(path)
            assert (read.status_code, read.json()["id"], read.json()["name"]) == (
                *(200, str(organisation.id), "North Storage"),
            )
        assert (await stranger.admin.get(path)).status_code == 403
        assert (await stranger.admin.get(f"/organisations/{uuid4()}")).status_code == 404
        assert (await stranger.admin.get("/organisations/7")).status_code == 400

    async def test_is_renamed_only_against_the_version_that_was_read(self, organisation):
        path = f"/organisations/{organisation.id}"
        tag = (await organisation.admin.get(path)).headers["etag"]
        first = await organisation.admin.change(path, json={"name": "First"}, headers={"If-Match": tag})
        assert first.status_code == 200
        second = await organisation.admin.change(path, json={"name": "Second"}, headers={"If-Match": tag})
        assert second.status_code == 412
        assert (await organisation.admin.get(path)).json()["name"] == "First"
        assert (await organisation.viewer.change(path, json={"name": "Third"})).status_code == 403

    async def test_that_is_set_to_what_it_is_does_not_change(self, organisation):
        path = f"/organisations/{organisation.id}"
        before = await organisation.admin.get(path)
        for name in ("name", "address", "maxKeyAgeDays", "requireSecondFactor", "allowedNetworks"):
            same = await organisation.admin.change(path, json={name: before.json()[name]})
            assert (same.status_code, same.json(), same.headers["etag"]) == (200, before.json(), before.headers["etag"])

    async def test_of_two_renamings_at_once_against_one_version_only_one_holds(self, organisation):
        path = f"/organisations/{organisation.id}"
        headers = {"If-Match": (await organisation.admin.get(path)).headers["etag"]}
        answers = await asyncio.gather(
            *(organisation.admin.change(path, json={"name": f"Name {n}"}, headers=headers) for n in range(6))
        )
        assert sorted(answer.status_code for answer in answers) == [200] + [412] * 5

    async def test_keeps_an_address_without_the_space_around_it(self, organisation):
        path, typed = f"/organisations/{organisation.id}", " Quay 7\nNorth Harbour \n"
        changed = await organisation.admin.change(path, json={"address": typed})
        assert changed.json()["address"] == "Quay 7\nNorth Harbour"
        assert (await organisation.admin.get(path)).json() == changed.json()


class TestInvitation:
    async def test_works_once(self, anonymous, organisation):
        token = (await invite(organisation.admin, organisation)).json()["token"]
        assert (await accept(anonymous, token)).status_code == 201
        assert (await accept(anonymous, token)).status_code == 409

    async def test_accepted_many_times_at_once_makes_one_user(self, anonymous, organisation):
        token = (await invite(organisation.admin, organisation)).json()["token"]
        answers = await asyncio.gather(*(accept(anonymous, token) for _ in range(6)))
        assert sorted(answer.status_code for answer in answers) == [201] + [409] * 5
        members = (await organisation.admin.get(f"/organisations/{organisation.id}/members")).json()
        assert len(members) == len(Role) + 1

    async def test_is_not_spent_by_a_refused_attempt(self, anonymous, organisation):
        token = (await invite(organisation.admin, organisation)).json()["token"]
        taken = organisation.people[Role.VIEWER].username.upper()
        assert (await accept(anonymous, token, taken)).status_code == 409
        assert (await accept(anonymous, token, password="password12345")).status_code == 422
        assert (await accept(anonymous, token, password="short")).status_code == 400
        assert (await accept(anonymous, token)).status_code == 201

    async def test_one_user_name_goes_to_one_of_many_at_once(self, anonymous, organisation):
        emails = [f"ada{number}@example.org" for number in range(4)]
        tokens = [(await invite(organisation.admin, organisation, email=email)).json()["token"] for email in emails]
        username = f"wanted-{uuid4().hex}"
        answers = await asyncio.gather(*(accept(anonymous, token, username) for token in tokens))
        assert sorted(answer.status_code for answer in answers) == [201, 409, 409, 409]

    async def test_expires(self, app, anonymous, organisation):
        invited = (await invite(organisation.admin, organisation)).json()
        path = f"/organisations/{organisation.id}/invitations"
        for passed, status in (("6 days 23 hours", "PENDING"), ("61 minutes", "EXPIRED")):
            await app.pool.execute(
                "update invitation set expires_at = expires_at - $2::text::interval where id = $1",
                invited["id"],
                passed,
            )
            assert [item["status"] for item in (await organisation.admin.get(path)).json()] == [status]
        assert (await accept(anonymous, invited["token"])).status_code == 409

    async def test_can_be_revoked_until_it_is_accepted(self, app, anonymous, organisation):
        invited = (await invite(organisation.admin, organisation)).json()
        path = f"/organisations/{organisation.id}/invitations/{invited['id']}"
        assert (await organisation.admin.delete(path)).status_code == 204
        assert (await organisation.admin.delete(path)).status_code == 204
        assert (await accept(anonymous, invited["token"])).status_code == 409
        accepted = (await invite(organisation.admin, organisation)).json()
        await accept(anonymous, accepted["token"])
        path = f"/organisations/{organisation.id}/invitations/{accepted['id']}"
        assert (await organisation.admin.delete(path)).status_code == 409
        late = (await invite(organisation.admin, organisation)).json()["id"]
        await app.pool.execute("update invitation set expires_at = created_at - interval '1 ms' where id = $1", late)
        listed = f"/organisations/{organisation.id}/invitations"
        for status in ("EXPIRED", "REVOKED"):
            assert [one["status"] for one in (await organisation.admin.get(listed)).json()] == [
                *("REVOKED", "ACCEPTED", status)
            ]
            assert (await organisation.admin.delete(f"{listed}/{late}")).status_code == 204

    async def test_of_an_unknown_token_is_not_found(self, anonymous):
        assert (await accept(anonymous, "gli_never-given-out")).status_code == 404

    async def test_is_looked_up_before_the_password_and_counted_by_address(self, app, organisation):
        token = (await invite(organisation.admin, organisation)).json()["token"]
        async with client_of(app, address="203.0.113.9") as guesser, client_of(app, address="203.0.113.10") as invited:
            tried = [await accept(guesser, f"gli_{number}", password="4@8({[<369!1|0$5+7%2") for number in range(62)]
            assert [answer.status_code for answer in tried[:60]] == [404] * 60
            assert (tried[61].status_code, tried[61].json()["type"]) == (429, "/docs/problems/acceptances-throttled")
            assert int(tried[61].headers["retry-after"]) >= 1
            weak = await accept(invited, token, password="password1234")
            assert (weak.status_code, weak.json()["errors"][0]["pointer"]) == (422, "/password")
            assert (await accept(invited, token)).status_code == 201

    async def test_is_for_administrators_and_the_operator(self, operator, organisation, stranger):
        invited = await invite(operator, organisation)
        assert (invited.status_code, invited.json()["organisationID"]) == (201, str(organisation.id))
        for reader in (organisation.admin, operator):
            listed = (await reader.get(f"/organisations/{organisation.id}/invitations")).json()
            assert [one["id"] for one in listed] == [invited.json()["id"]]
        assert (await invite(organisation.trader, organisation)).status_code == 403
        assert (await invite(stranger.admin, organisation)).status_code == 403
        other = (await invite(organisation.admin, organisation)).json()
        path = f"/organisations/{stranger.id}/invitations/{other['id']}"
        assert (await stranger.admin.delete(path)).status_code == 404


class TestMember:
    def path(self, organisation, person):
        return f"/organisations/{organisation.id}/members/{person.id}"

    @pytest.mark.parametrize("listed", ["members", "invitations", "api-keys"])
    async def test_and_what_they_have_are_listed_page_by_page(self, organisation, listed):
        for number in range(4):
            await invite(organisation.admin, organisation, email=f"ada{number}@example.org")
            key = {"name": str(number), "permissions": ["Read:monitoring"]}
            assert (await organisation.trader.post("/auth/api-keys", json=key)).status_code == 201
        whole = (await organisation.admin.get(f"/organisations/{organisation.id}/{listed}")).json()
        seen, link = [], f"/organisations/{organisation.id}/{listed}?limit=2"
        while link:
            page = await organisation.admin.get(link)
            seen += page.json()
            link = page.links.get("next", {}).get("url")
        assert len(whole) >= 4
        assert [one["id"] for one in seen] == [one["id"] for one in whole]

    async def test_is_listed_to_colleagues_and_the_operator_only(self, operator, organisation, stranger):
        path = f"/organisations/{organisation.id}/members"
        listed = (await organisation.viewer.get(path)).json()
        assert [member["role"] for member in listed] == list(Role)
        assert [one["id"] for one in (await operator.get(path)).json()] == [one["id"] for one in listed]
        assert (await stranger.admin.get(path)).status_code == 403

    async def test_is_out_within_a_second_after_removal(self, organisation):
        viewer = organisation.people[Role.VIEWER]
        assert (await viewer.client.get("/auth/me")).status_code == 200
        assert (await organisation.admin.delete(self.path(organisation, viewer))).status_code == 204
        await wait_for_status(viewer.client, 401)
        assert (await organisation.admin.delete(self.path(organisation, viewer))).status_code == 404

    async def test_cannot_change_without_the_permission(self, organisation, stranger):
        viewer = organisation.people[Role.VIEWER]
        assert (await viewer.client.change(self.path(organisation, viewer), json={"role": "ADMIN"})).status_code == 403
        refused = await stranger.admin.change(self.path(organisation, viewer), json={"role": "ADMIN"})
        assert refused.status_code == 403

    async def test_changes_only_against_the_version_that_was_read(self, organisation):
        path = self.path(organisation, organisation.people[Role.VIEWER])
        tag = (await organisation.admin.change(path, json={})).headers["etag"]
        first = await organisation.admin.change(path, json={"role": "TRADER"}, headers={"If-Match": tag})
        assert first.status_code == 200
        assert first.headers["etag"] != tag
        assert (await organisation.admin.delete(path, headers={"If-Match": tag})).status_code == 412


class TestLastAdministrator:
    async def test_can_neither_be_removed_nor_demoted(self, organisation):
        path = f"/organisations/{organisation.id}/members/{organisation.people[Role.ADMIN].id}"
        assert (await organisation.admin.delete(path)).status_code == 409
        assert (await organisation.admin.change(path, json={"role": "VIEWER"})).status_code == 409
        assert (await organisation.admin.change(path, json={"role": "ADMIN"})).status_code == 200

    async def test_stays_when_all_administrators_leave_at_once(self, app, people, operator, organisation):
        for _ in range(5):
            admins = [await people.add_member(organisation.id, Role.ADMIN) for _ in range(3)]
            admins.append(organisation.people[Role.ADMIN])
            base = f"/organisations/{organisation.id}/members"
            leaving = [
                operator.delete(f"{base}/{admin.id}")
                if number % 2
                else operator.change(f"{base}/{admin.id}", json={"role": "VIEWER"})
                for number, admin in enumerate(admins)
            ]
            statuses = sorted(answer.status_code for answer in await asyncio.gather(*leaving))
            assert statuses.count(409) == 1
            remaining = await app.pool.fetch(
                "select id from member where organisation_id = $1 and role = 'ADMIN'", organisation.id
            )
            assert len(remaining) == 1
            organisation = await people.new_organisation()


async def test_no_caller_learns_an_organisation_from_a_closed_client(app):
    async with client_of(app) as client:
        assert (await client.get("/organisations")).status_code == 401
