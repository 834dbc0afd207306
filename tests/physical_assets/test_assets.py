"""Registering, reading and changing physical assets, and their effective-dated parameters."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from tests.assets import PARAMETERS, new_asset_body, pointers, register_asset
from tests.auctions.conftest import Market, still_market
from tests.emitted import events_of, is_of_asset
from tests.people import client_of

from gridloom.kernel.codes import eic_check_character
from gridloom.kernel.problem import NotFound
from gridloom.physical_assets.store import read_asset

__all__ = ["still_market"]  # a fixture

EIC = "11WSPEICHER-NRD9"
GOOD_EIC = EIC[:-1] + eic_check_character(EIC[:-1])


class TestRegistration:
    async def test_keeps_all_that_is_given(self, new_organisation):
        owner = await new_organisation()
        body = {"name": "North", "organisationID": str(owner.id), "physicalAssetIDs": []}
        fleet = (await owner.engineer.post("/fleets", json=body)).json()["id"]
        given = {"controlArea": "50Hertz", "eicCode": GOOD_EIC, "commissionedOn": "2025-07-01", "fleetID": fleet}
        limits = {"minStateOfCharge": 0.05, "maxStateOfCharge": 0.95, "rampRate": 70, "fcrLimitRatio": 0.7}
        parameters = {**PARAMETERS, **limits, "dailyCycleLimit": 2, "annualCycleLimit": 500}
        answer = await owner.engineer.post(
            "/physical-assets", json=new_asset_body(owner, **given, parameters=parameters)
        )
        assert answer.status_code == 201, answer.text
        assert answer.json().items() >= (given | {"name": "Speicher Nord", "deliveryZone": "TenneT"}).items()
        assert answer.json()["parameters"].items() >= parameters.items()
        change = {"name": "Süd", "deliveryZone": "Amprion", "controlArea": "TransnetBW", "eicCode": None}
        change |= {"commissionedOn": "2025-08-01", "fleetID": None, "status": "INACTIVE"}
        changed = await owner.engineer.change(answer.headers["location"], json=change)
        assert changed.json() == answer.json() | change
        newer = {**parameters, "rampRate": 60, "dailyCycleLimit": 3, "fcrLimitRatio": 0.6}
        newer |= {"annualCycleLimit": 100_000, "energyCapacity": 100_000_000}
        put = await owner.engineer.put(answer.headers["location"] + "/parameters", json=newer)
        assert put.json().items() >= newer.items()

    async def test_by_the_operator_leaves_it_an_explicit_grant_that_can_be_taken_back(self, new_organisation, operator):
        owner = await new_organisation()
        answer = await operator.post("/physical-assets", json=new_asset_body(owner))
        assert answer.status_code == 201
        asset_id = answer.json()["id"]
        assert (await operator.get(f"/physical-assets/{asset_id}")).status_code == 200
        grants = (await owner.admin.get(f"/physical-assets/{asset_id}/grants")).json()
        assert len(grants) == 1
        assert "Update:schedules" in grants[0]["permissions"]
        taken = await owner.admin.delete(f"/physical-assets/{asset_id}/grants/{grants[0]['organisationID']}")
        assert taken.status_code == 204
        assert (await operator.get(f"/physical-assets/{asset_id}")).status_code == 403

    async def test_by_the_operator_is_into_a_fleet_of_the_owner(self, new_organisation, operator):
        owner, other = await new_organisation(), await new_organisation()
        for one, status in ((owner, 201), (other, 422)):
            body = {"name": "North", "organisationID": str(one.id), "physicalAssetIDs": []}
            fleet = (await operator.post("/fleets", json=body)).json()["id"]
            answer = await operator.post("/physical-assets", json=new_asset_body(owner, fleetID=fleet))
            assert answer.status_code == status
            assert answer.json().get("fleetID") == (fleet if status == 201 else None)

    async def test_for_another_organisation_is_the_operators_alone(self, new_organisation):
        owner, other = await new_organisation(), await new_organisation()
        assert (await other.admin.post("/physical-assets", json=new_asset_body(owner))).status_code == 403

    async def test_for_an_organisation_that_does_not_exist_is_not_found(self, new_organisation, operator):
        owner = await new_organisation()
        answer = await operator.post("/physical-assets", json=new_asset_body(owner, organisationID=str(uuid4())))
        assert answer.status_code == 404

    async def test_needs_the_right_check_character_of_an_eic(self, new_organisation):
        owner = await new_organisation()
        answer = await owner.admin.post("/physical-assets", json=new_asset_body(owner, eicCode=EIC[:-1] + "0"))
        assert answer.status_code == 422
        assert answer.json()["type"] == "/docs/problems/invalid-code"
        assert pointers(answer) == ["/eicCode"]
        expected = answer.json()["detail"].split("would be ")[1][0]
        good = await owner.admin.post("/physical-assets", json=new_asset_body(owner, eicCode=EIC[:-1] + expected))
        assert good.status_code == 201
        for code in (EIC[:-1] + "0", "10Y1001A1001A82H"):  # the other is that of an area
            changed = await owner.admin.change(good.headers["Location"], json={"eicCode": code})
            assert (changed.status_code, pointers(changed)) == (422, ["/eicCode"])
            refused = await owner.admin.post("/physical-assets", json=new_asset_body(owner, eicCode=code))
            assert (refused.status_code, pointers(refused)) == (422, ["/eicCode"])

    async def test_lets_ratings_hold_from_the_day_of_commissioning(self, new_organisation):
        owner = await new_organisation()
        asset = await register_asset(owner, commissionedOn="2026-07-01")
        parameters = (await owner.viewer.get(asset.path())).json()["parameters"]
        assert parameters["validFrom"] == "2026-06-30T22:00:00Z"
        early = await owner.viewer.get(asset.path("/parameters"), params={"at": "2026-06-30T21:59:59Z"})
        assert early.status_code == 404

    async def test_refuses_states_of_charge_in_the_wrong_order(self, new_organisation):
        owner = await new_organisation()
        answer = await owner.admin.post(
            "/physical-assets",
            json=new_asset_body(owner, parameters={**PARAMETERS, "minStateOfCharge": 0.9, "maxStateOfCharge": 0.1}),
        )
        assert answer.status_code == 422
        assert pointers(answer) == ["/parameters/minStateOfCharge"]


class TestList:
    async def test_holds_what_is_owned_and_what_is_granted_page_by_page(self, new_organisation):
        owner, reader = await new_organisation(), await new_organisation()
        own = [(await register_asset(reader, name=f"own {n}")).id for n in range(2)]
        foreign = [await register_asset(owner, name=f"foreign {n}") for n in range(4)]
        for asset, permission in zip(
            foreign, ["Read:physical-assets", "Read:schedules", "Read:physical-assets"], strict=False
        ):
            await owner.admin.put(asset.path(f"/grants/{reader.id}"), json={"permissions": [permission]})
        answer = await reader.viewer.get("/physical-assets?limit=1")
        seen = [asset["id"] for asset in answer.json()]
        while "link" in answer.headers:
            answer = await reader.viewer.get(answer.headers["link"][1:].split(">")[0])
            assert len(answer.json()) == 1
            seen += [asset["id"] for asset in answer.json()]
        assert seen == [*own, foreign[0].id, foreign[2].id]

    async def test_has_the_parameters_in_force_of_each_whatever_is_to_come(self, new_organisation):
        owner = await new_organisation()
        assets = [await register_asset(owner) for _ in range(3)]
        for number, asset in enumerate(assets[1:], start=1):
            for valid_from, energy in (("2026-01-01", 100), ("2090-01-01", 9_999)):
                changed = {**PARAMETERS, "energyCapacity": energy * number, "validFrom": f"{valid_from}T00:00:00Z"}
                added = await owner.engineer.put(asset.path("/parameters"), json=changed)
                assert added.status_code == 200
                assert added.json()["recordedAt"] < "2090", "when it came, not from when it holds"
        listed = (await owner.viewer.get("/physical-assets")).json()
        found = [(one["parameters"]["version"], one["parameters"]["energyCapacity"]) for one in listed]
        assert found == [(1, PARAMETERS["energyCapacity"]), (2, 100), (2, 200)]

    async def test_has_for_an_api_key_the_assets_it_is_for(self, app, new_organisation):
        """Neither another one of its organisation's, nor another one that was granted."""
        owner, other = await new_organisation(), await new_organisation()
        inside, _ = await register_asset(owner), await register_asset(owner)
        granted = [await register_asset(other) for _ in range(2)]
        for asset in granted:
            grant = {"permissions": ["Read:physical-assets"]}
            assert (await other.admin.put(asset.path(f"/grants/{owner.id}"), json=grant)).status_code == 200
        reached = [inside.id, granted[1].id]
        key = {"name": "Gateway", "permissions": ["Read:physical-assets"], "physicalAssetIDs": reached}
        made = await owner.admin.post("/auth/api-keys", json=key)
        assert made.status_code == 201, made.text
        async with client_of(app, made.json()["secret"]) as machine:
            assert [asset["id"] for asset in (await machine.get("/physical-assets")).json()] == reached


class TestChange:
    async def test_by_the_operator_is_into_a_fleet_of_the_owner(self, new_organisation, operator):
        owner, other = await new_organisation(), await new_organisation()
        made = await operator.post("/physical-assets", json=new_asset_body(owner))
        path = f"/physical-assets/{made.json()['id']}"
        own = (await operator.get("/auth/me")).json()["organisationID"]
        for organisation_id, status in ((own, 422), (str(other.id), 422), (str(owner.id), 200)):
            body: dict[str, Any] = {"name": "North", "organisationID": organisation_id, "physicalAssetIDs": []}
            fleet = (await operator.post("/fleets", json=body)).json()["id"]
            assert (await operator.change(path, json={"fleetID": fleet})).status_code == status
        assert (await owner.viewer.get(path)).json()["fleetID"] == fleet

    async def test_into_another_organisations_fleet_is_refused(self, new_organisation):
        owner, other = await new_organisation(), await new_organisation()
        asset = await register_asset(owner)
        fleet = await other.admin.post(
            "/fleets", json={"name": "Theirs", "organisationID": str(other.id), "physicalAssetIDs": []}
        )
        answer = await owner.admin.change(asset.path(), json={"fleetID": fleet.json()["id"]})
        assert answer.status_code == 422
        assert pointers(answer) == ["/fleetID"]
        own = await owner.admin.post(
            "/fleets", json={"name": "Ours", "organisationID": str(owner.id), "physicalAssetIDs": []}
        )
        moved = await owner.admin.change(asset.path(), json={"fleetID": own.json()["id"]})
        assert (moved.status_code, moved.json()["fleetID"]) == (200, own.json()["id"])

    async def test_of_the_zone_waits_until_no_auction_offers_the_asset(self, still_market: Market):
        battery = await still_market.battery()
        auction = await still_market.auction(battery)
        path, change = f"/physical-assets/{battery}", {"deliveryZone": "TenneT"}
        held = await still_market.owner.admin.change(path, json=change)
        assert (held.status_code, held.json()["type"]) == (422, "/docs/problems/delivery-zone-held")
        assert (await still_market.operator.delete(f"/auctions/{auction}")).status_code == 204
        assert (await still_market.owner.admin.change(path, json=change)).status_code == 200


class TestParameters:
    async def test_are_versions_of_which_the_one_in_force_holds(self, new_organisation):
        owner = await new_organisation()
        asset = await register_asset(owner)
        path = asset.path("/parameters")
        for valid_from, power in [("2026-05-01T00:00:00Z", 5_000), ("2026-09-01T00:00:00Z", 7_000)]:
            answer = await owner.engineer.put(
                path, json={**PARAMETERS, "validFrom": valid_from, "ratedChargePower": power}
            )
            assert answer.status_code == 200
            assert answer.json()["validFrom"] == valid_from
        for at, power in [
            ("2026-04-30T23:59:59Z", 10_000),
            ("2026-05-01T02:00:00+02:00", 5_000),
            ("2026-08-31T23:59:59Z", 5_000),
            ("2030-01-01T00:00:00Z", 7_000),
        ]:
            assert (await owner.viewer.get(path, params={"at": at})).json()["ratedChargePower"] == power
        history = (await owner.viewer.get(path + "/history")).json()
        assert [entry["version"] for entry in history] == [3, 2, 1]
        given = await owner.engineer.put(path, json=PARAMETERS, params={"at": "2026-11-01T00:00:00Z"})
        assert given.json()["validFrom"] == "2026-11-01T00:00:00Z"
        both = {**PARAMETERS, "validFrom": "2026-12-01T00:00:00Z"}
        given = await owner.engineer.put(path, json=both, params={"at": "2026-11-01T00:00:00Z"})
        assert given.json()["validFrom"] == "2026-12-01T00:00:00Z", "the body's own comes first"
        first = await owner.viewer.get(path + "/history", params={"limit": 2})
        rest = await owner.viewer.get(first.headers["link"][1:].split(">")[0])
        assert [entry["version"] for entry in first.json() + rest.json()] == [5, 4, 3, 2]

    async def test_say_by_an_event_that_a_version_was_added_and_by_which_member(self, app, new_organisation):
        owner = await new_organisation()
        asset = await register_asset(owner)
        added = (await owner.engineer.put(asset.path("/parameters"), json=PARAMETERS)).json()
        refused = {**PARAMETERS, "minStateOfCharge": 0.9, "maxStateOfCharge": 0.1}
        contradicting = await owner.engineer.put(asset.path("/parameters"), json=refused)
        assert (contradicting.status_code, pointers(contradicting)) == (422, ["/minStateOfCharge"])
        [told] = await events_of(app.pool, owner.id, subject=f"physical-assets/{asset.id}/parameters")
        assert (told.type, told.permission) == ("physical-asset.parameters-changed", "Read:physical-assets")
        author = (await owner.engineer.get("/auth/me")).json()["id"]
        assert told.data == {"version": 2, "validFrom": added["validFrom"], "authorID": author}
        assert await is_of_asset(app.pool, told, asset.id), "a grant of it is enough to read it"

    async def test_are_the_first_before_any_are_in_force(self, new_organisation):
        owner, now = await new_organisation(), datetime.now(UTC)
        asset = await register_asset(owner, commissionedOn=(now + timedelta(days=10)).date().isoformat())
        later = {**PARAMETERS, "energyCapacity": 1, "validFrom": (now + timedelta(days=20)).isoformat()}
        assert (await owner.engineer.put(asset.path("/parameters"), json=later)).status_code == 200
        first = (await owner.viewer.get(asset.path("/parameters"))).json()
        assert (first["version"], first["energyCapacity"]) == (1, PARAMETERS["energyCapacity"])
        ahead = {"at": (now + timedelta(days=25)).isoformat()}
        to_come = await owner.viewer.get(asset.path("/parameters"), params=ahead)
        assert (to_come.json()["version"], to_come.json()["energyCapacity"]) == (2, 1)
        assert to_come.headers["etag"] == '"2"', "of the latest, whichever is read"
        assert (await owner.viewer.get(asset.path())).json()["parameters"] == first
        again = {**PARAMETERS, "energyCapacity": 2, "validFrom": first["validFrom"]}
        assert (await owner.engineer.put(asset.path("/parameters"), json=again)).status_code == 200
        corrected = (await owner.viewer.get(asset.path())).json()["parameters"]
        assert (corrected["version"], corrected["energyCapacity"]) == (3, 2)

    async def test_respect_if_match(self, new_organisation):
        owner = await new_organisation()
        asset = await register_asset(owner)
        path = asset.path("/parameters")
        tag = (await owner.viewer.get(path)).headers["etag"]
        assert (await owner.engineer.put(path, json=PARAMETERS, headers={"If-Match": tag})).status_code == 200
        assert (await owner.engineer.put(path, json=PARAMETERS, headers={"If-Match": tag})).status_code == 412

    @pytest.mark.parametrize("cursor", ["WzFd", "bm90anNvbg", "W10", "WzEwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDBd", "!!"])
    async def test_history_refuses_a_cursor_it_did_not_give(self, new_organisation, cursor):
        owner = await new_organisation()
        asset = await register_asset(owner)
        answer = await owner.viewer.get(asset.path("/parameters/history"), params={"cursor": cursor})
        assert answer.status_code == (200 if cursor == "WzFd" else 400)


async def test_an_asset_that_a_reset_removed_is_unknown_to_who_had_found_it(app):
    with pytest.raises(NotFound):
        await read_asset(app.pool, -1)
