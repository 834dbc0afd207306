"""A physical battery is promised once: a later request learns what is held."""

import asyncio
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest
from tests.emitted import events_of
from tests.virtual_assets.conftest import QUARTER, new_asset, register, tomorrow, wire
from tests.virtual_assets.test_schedules import problem

from gridloom.capacity.model import HoldingKind
from gridloom.kernel.ids import PhysicalAssetID
from gridloom.kernel.market_time import floor_to_period
from gridloom.kernel.window import Window
from gridloom.platform.database.commit import transaction
from gridloom.virtual_assets import asset_lookup
from gridloom.virtual_assets.backing.holdings import hold_backing
from gridloom.virtual_assets.backing.store import read_seals
from gridloom.virtual_assets.model import AssetTerms, BackingShare, Efficiency

DAY = timedelta(days=1)


@pytest.fixture
async def site(operator, new_organisation):
    """Allocates from one physical battery of 1000 kW and 2000 kWh."""

    class Site:
        def __init__(self, organisation, physical):
            self.organisation, self.physical = organisation, physical
            self.url = f"/organisations/{organisation.id}/virtual-assets"

        async def allocate(self, *, start=0, end=2, power=1000, energy=2000, client=operator, **changes):
            first = tomorrow()
            body = new_asset(
                self.physical,
                start=wire(first + start * DAY),
                end=wire(first + end * DAY),
                ratedChargePower=power,
                ratedDischargePower=power,
                energyCapacity=energy,
            )
            return await client.post(self.url, json=body | changes)

    organisation = await new_organisation()
    return Site(organisation, [await register(operator, organisation.id)])


async def _find_operator(operator):
    return (await operator.get("/auth/me")).json()["organisationID"]


class TestAllocation:
    async def test_begins_with_one_wholesale_block_of_all_its_power(self, site):
        made = (await site.allocate(ratedChargePower=600, ratedDischargePower=900)).json()
        (block,) = made["blockMetadata"]
        assert (block["market"], block["start"], block["end"]) == ("WHOLESALE", made["start"], made["end"])
        read = (await site.organisation.trader.get(f"{site.url}/{made['id']}/blocks/{block['id']}")).json()
        assert (read["ratedChargePower"], read["ratedDischargePower"]) == (600, 900)

    async def test_is_announced_to_the_holder_of_the_asset(self, app, site):
        made = (await site.allocate()).json()
        [told] = await events_of(app.pool, site.organisation.id, subject=f"virtual-assets/{made['id']}")
        assert (told.type, told.permission) == ("virtual-asset.allocated", "Read:virtual-assets")
        assert told.data == {"virtualAssetID": made["id"], "auctionID": None}

    async def test_is_held_for_its_organisation_in_the_book_of_its_battery(self, site):
        made = (await site.allocate()).json()
        window = {"start": made["start"], "end": wire(tomorrow() + QUARTER)}
        path = f"/physical-assets/{site.physical[0]['id']}/commitments"
        [point] = (await site.organisation.viewer.get(path, params=window)).json()["commitments"]
        name = (await site.organisation.viewer.get(f"/organisations/{site.organisation.id}")).json()["name"]
        holder = {"kind": "VIRTUAL_ASSET", "virtualAssetID": made["id"], "organisationID": made["organisationID"]}
        assert point["holders"] == [holder | {"organisationName": name, "power": power} for power in (1000, -1000)]

    async def test_answers_the_whole_asset(self, site, operator):
        answer = await site.allocate()
        assert answer.status_code == 201
        asset = answer.json()
        assert answer.headers["Location"] == f"{site.url}/{asset['id']}"
        assert asset["organisationID"] == str(site.organisation.id)
        assert asset["backing"] == [{"physicalAssetID": site.physical[0]["id"], "share": 1}]
        assert asset["dispatchGateClosureSeconds"] == 480
        assert asset["initialStateOfChargePercentage"] == asset["endStateOfChargePercentage"] == 50
        assert asset["finalSoCTolerance"] == 0.01
        assert asset["imbalanceCharge"] == asset["imbalanceDischarge"] == 0
        assert asset["availableEnergyCapacity"] == 2000
        assert (asset["unitsPower"], asset["unitsEnergy"]) == ("kW", "kWh")
        assert asset["portfolioID"] is None
        assert "auctionID" not in asset
        assert (await site.organisation.viewer.get(f"{site.url}/{asset['id']}")).json() == asset
        assert [known["id"] for known in (await site.organisation.viewer.get(site.url)).json()] == [asset["id"]]

    async def test_finds_the_battery_free_that_another_holder_has_left_for_a_second(self, app, operator, site):
        """As an auction does whose item is moved to another battery, and then changed there.

        What another asset of the battery lacked at gates that have closed is fixed before its capacity is released.
        """
        first, second = (UUID(one["id"]) for one in (*site.physical, await register(operator, site.organisation.id)))
        running = (await site.allocate(start=-2, end=0)).json()
        key = await app.pool.fetchval("select key from asset where id = $1", UUID(running["id"]))
        holder_id, window = uuid4(), Window(tomorrow(), tomorrow() + 2 * DAY)
        for battery_id, replaced, status in ((first, [], 409), (second, [first], 201), (second, [second], 409)):
            backing = (BackingShare(PhysicalAssetID(battery_id), 1.0),)
            terms = AssetTerms("Loom", window, "TenneT", 1000.0, 1000.0, 2000.0, Efficiency(0.9, 0.9), backing)
            async with transaction(app.pool) as db:
                await hold_backing(db, terms, HoldingKind.AUCTION, holder_id, replaced=replaced)
            assert (await read_seals(app.pool, [key])).keys() == ({key} if replaced else set())
            assert (await site.allocate()).status_code == status

    async def test_is_listed_for_windows_that_overlap_its_life(self, site):
        asset = (await site.allocate()).json()
        start, end, minute = tomorrow(), tomorrow() + 2 * DAY, timedelta(minutes=1)
        for window, is_listed in (
            ({"start": wire(end)}, False),
            ({"start": wire(end - minute)}, True),
            ({"end": wire(start)}, False),
            ({"end": wire(start + minute)}, True),
        ):
            listed = (await site.organisation.viewer.get(site.url, params=window)).json()
            assert [known["id"] for known in listed] == ([asset["id"]] if is_listed else [])
        backwards = {"start": asset["end"], "end": asset["start"]}
        answer = await site.organisation.viewer.get(site.url, params=backwards)
        assert answer.status_code == 400, answer.text

    async def test_is_listed_page_by_page_among_those_of_a_window(self, site):
        made = [(await site.allocate(start=day, end=day + 1)).json()["id"] for day in (1, 2, 0, 3, 4)]
        window = {"start": wire(tomorrow() + DAY), "end": wire(tomorrow() + 5 * DAY), "limit": 2}
        pages = [await site.organisation.viewer.get(site.url, params=window)]
        while "next" in pages[-1].links:
            pages.append(await site.organisation.viewer.get(pages[-1].links["next"]["url"]))
        assert [[asset["id"] for asset in page.json()] for page in pages] == [made[:2], made[3:]]

    async def test_needs_the_right_to_schedule_what_backs_it(self, site, operator):
        granted = f"/physical-assets/{site.physical[0]['id']}/grants/{await _find_operator(operator)}"
        for permission, status in (("Read:physical-assets", 403), ("Update:schedules", 201)):
            body = {"permissions": [permission]}
            assert (await site.organisation.admin.put(granted, json=body)).status_code in (200, 201)
            assert (await site.allocate()).status_code == status

    async def test_needs_it_on_each_of_several(self, site, operator):
        site.physical += [await register(operator, site.organisation.id)]
        granted = f"/physical-assets/{site.physical[1]['id']}/grants/{await _find_operator(operator)}"
        assert (await site.organisation.admin.delete(granted)).status_code == 204
        assert (await site.allocate()).status_code == 403

    async def test_says_what_is_taken(self, site):
        assert (await site.allocate(power=600, energy=500, start=1, end=3)).status_code == 201
        answer = problem(await site.allocate(power=600, energy=500), 409, "capacity-taken")
        (shortage,) = answer["shortages"]
        assert shortage["physicalAssetID"] == site.physical[0]["id"]
        assert shortage["start"] == wire(tomorrow() + DAY)
        assert shortage["asked"] == {"charge": 600, "discharge": 600, "energy": 500}
        assert shortage["free"] == {"charge": 400, "discharge": 400, "energy": 1500}
        assert shortage["holders"] == ["VIRTUAL_ASSET"]
        assert (await site.allocate(power=400, energy=1500)).status_code == 201

    async def test_of_windows_that_only_touch_is_free(self, site):
        for start in (2, 0, 1):
            assert (await site.allocate(start=start, end=start + 1)).status_code == 201
        problem(await site.allocate(start=0, end=3, power=1, energy=1), 409, "capacity-taken")

    async def test_takes_more_of_a_less_efficient_battery(self, site):
        better = {"chargeEfficiency": 1.0, "dischargeEfficiency": 1.0}
        answer = problem(await site.allocate(power=901, energy=1800, **better), 422, "capacity-not-available")
        assert answer["asked"]["charge"] == pytest.approx(901 / 0.9)
        answer = problem(await site.allocate(power=900, energy=1801, **better), 422, "capacity-not-available")
        assert answer["asked"]["energy"] == pytest.approx(1801 / 0.9)
        assert (await site.allocate(power=900, energy=1800, **better)).status_code == 201

    async def test_of_several_batteries_takes_the_share_of_each(self, site, operator):
        site.physical += [await register(operator, site.organisation.id)]
        body = {
            "backing": [
                {"physicalAssetID": p["id"], "share": s} for p, s in zip(site.physical, (0.75, 0.25), strict=True)
            ]
        }
        asset = (await site.allocate(**body)).json()
        assert asset["backing"] == body["backing"]
        assert (await site.organisation.viewer.get(f"{site.url}/{asset['id']}")).json()["backing"] == body["backing"]
        lost = {"energyCapacity": 1750, "powerCapacity": {"charge": 0, "discharge": 0}}
        outage = {"description": "", "type": "OUTAGE", "start": asset["start"], "end": asset["end"], "volume": lost}
        answer = await site.organisation.engineer.post(
            f"/physical-assets/{site.physical[1]['id']}/unavailability", json=outage
        )
        assert answer.status_code == 201, answer.text
        read = (await site.organisation.viewer.get(f"{site.url}/{asset['id']}")).json()
        assert read["availableEnergyCapacity"] == pytest.approx(1750), "half of a quarter is gone"
        assert (await site.organisation.engineer.delete(answer.headers["Location"])).status_code == 204
        answer = problem(await site.allocate(power=1000, energy=2000, **body), 409, "capacity-taken")
        assert len(answer["shortages"]) == 1
        assert answer["shortages"][0]["free"]["charge"] == 250
        turned = await site.allocate(power=1000, energy=2000, backing=body["backing"][::-1])
        assert [[error["pointer"] for error in one["errors"]] for one in (answer, turned.json())] == [
            ["/backing/0"],
            ["/backing/1"],
        ]

    @pytest.mark.parametrize(
        ("changes", "status", "kind", "pointer"),
        [
            ({"backing": []}, 400, "bad-request", "/backing"),
            ({"backing": [{"physicalAssetID": str(uuid4()), "share": 0.1}] * 101}, 400, "bad-request", "/backing"),
            ({"start": "2027-01-01T00:07:00Z", "end": "2027-01-02T00:00:00Z"}, 400, "bad-request", "/start"),
            ({"start": "2027-01-02T00:00:00Z", "end": "2027-01-02T00:00:00Z"}, 400, "bad-request", "/end"),
            ({"start": "2027-01-02T00:00:00Z", "end": "2047-01-02T00:00:00Z"}, 400, "bad-request", "/end"),
            ({"energyCapacity": 0}, 400, "bad-request", "/energyCapacity"),
            ({"chargeEfficiency": 1.1}, 400, "bad-request", "/chargeEfficiency"),
            ({"initialStateOfChargePercentage": 101}, 400, "bad-request", "/initialStateOfChargePercentage"),
            ({"deliveryZone": "Elsewhere"}, 400, "bad-request", "/deliveryZone"),
            ({"dispatchGateClosureSeconds": 604_801}, 400, "bad-request", "/dispatchGateClosureSeconds"),
            ({"auctionID": None}, 400, "bad-request", "/auctionID"),
            ({"portfolioID": "01890000-0000-7000-8000-000000000000"}, 422, "unknown-portfolio", "/portfolioID"),
            ({"ratedChargePower": 0, "ratedDischargePower": 0}, 400, "bad-request", "/ratedChargePower"),
            ({"dischargeEfficiency": 5e-324}, 400, "bad-request", "/dischargeEfficiency"),
        ],
    )
    async def test_refuses_what_makes_no_sense(self, site, operator, changes, status, kind, pointer):
        body = new_asset(site.physical) | changes
        answer = problem(await operator.post(site.url, json=body), status, kind)
        assert answer["errors"][0]["pointer"] == pointer

    @pytest.mark.parametrize(("day", "at_its"), [(-3, "end"), (0, "start")])
    async def test_has_the_energy_of_the_nearer_end_of_life(self, site, day, at_its):
        """Before it as at its start, and after it as at its end: 500 kWh are out for that quarter-hour alone."""
        asset = (await site.allocate(start=day, end=day + 1)).json()
        edge = datetime.fromisoformat(asset[at_its])
        start = edge if at_its == "start" else edge - QUARTER
        lost = {"energyCapacity": 500, "powerCapacity": {"charge": 0, "discharge": 0}}
        outage = {"description": "", "type": "OUTAGE", "start": wire(start), "end": wire(start + QUARTER)}
        answer = await site.organisation.engineer.post(
            f"/physical-assets/{site.physical[0]['id']}/unavailability", json=outage | {"volume": lost}
        )
        assert answer.status_code == 201, answer.text
        read = (await site.organisation.viewer.get(f"{site.url}/{asset['id']}")).json()
        assert read["availableEnergyCapacity"] == 1500

    async def test_refuses_shares_that_do_not_make_a_whole_and_unknown_backing(self, site):
        (physical,) = site.physical
        for shares in ([0.5], [0.5, 0.5]):
            backing = [{"physicalAssetID": physical["id"], "share": share} for share in shares]
            problem(await site.allocate(backing=backing), 422, "shares-not-whole")
        ids = (physical["id"], "01890000-0000-7000-8000-000000000000")
        backing = [{"physicalAssetID": one, "share": 0.5} for one in ids]
        answer = problem(await site.allocate(backing=backing), 422, "unknown-backing-asset")
        assert [error["pointer"] for error in answer["errors"]] == ["/backing/1/physicalAssetID"]

    async def test_lies_in_the_delivery_zone_of_its_batteries(self, site):
        answer = problem(await site.allocate(deliveryZone="Amprion"), 422, "delivery-zones-differ")
        assert answer["errors"][0]["pointer"] == "/backing/0/physicalAssetID"

    async def test_is_refused_for_the_second_of_two_batteries_as_for_the_first(self, site, operator):
        site.physical += [await register(operator, site.organisation.id)]
        url, admin = f"/physical-assets/{site.physical[1]['id']}", site.organisation.admin
        for change, status, kind in (
            ({"deliveryZone": "Amprion"}, 422, "delivery-zones-differ"),
            ({"status": "INACTIVE"}, 409, "backing-asset-inactive"),
        ):
            assert (await admin.change(url, json=change)).status_code == 200
            answer = problem(await site.allocate(), status, kind)
            assert [error["pointer"] for error in answer["errors"]] == ["/backing/1/physicalAssetID"]

    async def test_keeps_its_batteries_in_their_zone(self, site):
        url, admin = f"/physical-assets/{site.physical[0]['id']}", site.organisation.admin
        assert (await site.allocate(start=-4, end=-2)).status_code == 201  # its life is over
        for zone in ("Amprion", "TenneT"):
            assert (await admin.change(url, json={"deliveryZone": zone})).status_code == 200
        assert (await site.allocate()).status_code == 201
        problem(await admin.change(url, json={"deliveryZone": "Amprion"}), 422, "delivery-zone-held")

    async def test_refuses_an_inactive_battery(self, site):
        for status in ("INACTIVE", "DECOMMISSIONED"):
            answer = await site.organisation.admin.change(
                f"/physical-assets/{site.physical[0]['id']}", json={"status": status}
            )
            assert answer.status_code == 200
            answer = problem(await site.allocate(), 409, "backing-asset-inactive")
            assert answer["errors"][0]["pointer"] == "/backing/0/physicalAssetID"

    async def test_has_at_most_the_cycles_of_its_batteries_at_any_time_of_its_life(self, site):
        (physical,) = site.physical
        url, start = f"/physical-assets/{physical['id']}/parameters", tomorrow()
        versions = (
            (1, 100, start - timedelta(days=20)),  # replaced when its life begins
            (2, 500, start),
            (1.5, None, start + timedelta(hours=1)),
        )
        for daily, annual, valid_from in versions:
            names = ("ratedChargePower", "ratedDischargePower", "energyCapacity", "chargeEfficiency")
            kept = {name: physical["parameters"][name] for name in (*names, "dischargeEfficiency")}
            limits = {"dailyCycleLimit": daily, "annualCycleLimit": annual, "validFrom": wire(valid_from)}
            assert (await site.organisation.admin.put(url, json=kept | limits)).status_code == 200
        answer = problem(await site.allocate(dailyCycleLimit=1.6, annualCycleLimit=501), 422, "cycle-limit-exceeded")
        assert [error["pointer"] for error in answer["errors"]] == ["/dailyCycleLimit", "/annualCycleLimit"]
        halves = {"ratedChargePower": 400, "ratedDischargePower": 400, "energyCapacity": 800}
        for named in ({}, {"dailyCycleLimit": 1.5, "annualCycleLimit": 500}):
            asset = (await site.allocate(**halves, **named)).json()
            assert (asset["dailyCycleLimit"], asset["annualCycleLimit"]) == (1.5, 500)

    @pytest.mark.parametrize("turned", [False, True])
    async def test_has_the_lowest_limit_of_any_of_its_batteries(self, site, operator, turned):
        """Of two whose limits are in force from the same instant on; what holds from the end of its life on is none."""
        limits = [{"dailyCycleLimit": 2, "annualCycleLimit": 500}, {"dailyCycleLimit": 3, "annualCycleLimit": 400}]
        site.physical = [
            await register(operator, site.organisation.id, **one) for one in (limits[::-1] if turned else limits)
        ]
        names = ("ratedChargePower", "ratedDischargePower", "energyCapacity", "chargeEfficiency", "dischargeEfficiency")
        for physical in site.physical:
            later = {name: physical["parameters"][name] for name in names}
            later |= {"dailyCycleLimit": 1, "annualCycleLimit": 300, "validFrom": wire(tomorrow() + 2 * DAY)}
            url = f"/physical-assets/{physical['id']}/parameters"
            assert (await site.organisation.admin.put(url, json=later)).status_code == 200
        asset = (await site.allocate()).json()
        assert (asset["dailyCycleLimit"], asset["annualCycleLimit"]) == (2, 400)


class TestNewParameters:
    """Of a battery that has promised half of itself: 500 kW and 1000 kWh for two days."""

    async def put(self, site, **changes):
        answer = await site.organisation.admin.put(
            f"/physical-assets/{site.physical[0]['id']}/parameters",
            json={
                "ratedChargePower": 1000,
                "ratedDischargePower": 1000,
                "energyCapacity": 2000,
                "chargeEfficiency": 0.9,
                "dischargeEfficiency": 0.9,
                **changes,
            },
        )
        assert answer.status_code == 200, answer.text

    async def test_shrink_what_is_promised_from_when_they_hold(self, site):
        asset = (await site.allocate()).json()
        later = tomorrow() + DAY
        await self.put(site, validFrom=wire(later), minStateOfCharge=0.1, maxStateOfCharge=0.9, chargeEfficiency=0.72)
        answer = await site.organisation.trader.get(
            f"{site.url}/{asset['id']}/operational",
            params={
                "categories": "energyCapacityAvailable,powerCapacityChargeAvailable,powerCapacityDischargeAvailable",
                "start": wire(later - timedelta(minutes=15)),
                "end": wire(later + timedelta(minutes=15)),
            },
        )
        seen = {name: [point["value"] for point in points] for name, points in answer.json()["data"].items()}
        assert seen["energyCapacityAvailable"] == [2000, pytest.approx(1600)]
        assert seen["powerCapacityChargeAvailable"] == [1000, pytest.approx(800)]
        assert seen["powerCapacityDischargeAvailable"] == [1000, 1000]
        await self.put(site, validFrom=wire(later))
        answer = await site.organisation.trader.get(
            f"{site.url}/{asset['id']}/operational",
            params={"categories": "energyCapacityAvailable", "start": wire(later), "end": wire(later + DAY)},
        )
        assert {point["value"] for point in answer.json()["data"]["energyCapacityAvailable"]} == {2000}


class TestRacingAllocations:
    async def test_promise_no_battery_twice(self, site, operator, app):
        site.physical += [await register(operator, site.organisation.id)]
        one, two = ([{"physicalAssetID": p["id"], "share": 1}] for p in site.physical)
        both = [{"physicalAssetID": p["id"], "share": 0.5} for p in site.physical]
        turned = both[::-1]
        requests = [
            site.allocate(start=n % 3, end=n % 3 + 2, power=300, energy=400, backing=backing)
            for n in range(8)
            for backing in (one, two, both, turned)
        ]
        answers = await asyncio.gather(*requests)
        assert {answer.status_code for answer in answers} == {201, 409}
        keys = await app.pool.fetch(
            "select key from asset where id = any($1::uuid[])", [p["id"] for p in site.physical]
        )
        for row in keys:
            await self.check_ledger(app.pool, row["key"])

    async def check_ledger(self, pool, key):
        """At every moment the ledger says what the virtual assets' promises sum to, and never more than there is."""
        promises = await pool.fetch(
            """select v.start_at, v.end_at, b.charge_kw, b.energy_kwh
               from virtual_backing b join virtual_asset v using (asset_key) where b.physical_asset_key = $1""",
            key,
        )
        held = await pool.fetch(
            """select to_timestamp(first_period * 900.0) as start_at, to_timestamp(end_period * 900.0) as end_at,
            charge_kw
               from capacity_holding where asset_key = $1""",
            key,
        )
        for moment in {edge for p in promises for edge in (p["start_at"], p["end_at"])}:
            standing = [p for p in promises if p["start_at"] <= moment < p["end_at"]]
            told = [s for s in held if s["start_at"] <= moment < s["end_at"]]
            assert sum(p["charge_kw"] for p in standing) == pytest.approx(sum(s["charge_kw"] for s in told))
            assert sum(p["charge_kw"] for p in standing) <= 1000 + 1e-6
            assert sum(p["energy_kwh"] for p in standing) <= 2000 + 1e-6


class TestUndoing:
    async def test_frees_the_capacity_again(self, site, operator):
        asset = (await site.allocate()).json()
        problem(await site.allocate(power=1, energy=1), 409, "capacity-taken")
        seen = (await operator.get(f"{site.url}/{asset['id']}")).headers["ETag"]
        assert (
            await site.organisation.trader.change(f"{site.url}/{asset['id']}", json={"name": "B"})
        ).status_code == 200
        stale = await operator.delete(f"{site.url}/{asset['id']}", headers={"If-Match": seen})
        assert stale.status_code == 412
        fresh = (await operator.get(f"{site.url}/{asset['id']}")).headers["ETag"]
        undone = await operator.delete(f"{site.url}/{asset['id']}", headers={"If-Match": fresh})
        assert undone.status_code == 204
        assert (await operator.get(f"{site.url}/{asset['id']}")).status_code == 404
        assert (await site.allocate()).status_code == 201

    async def test_comes_too_late_once_the_first_gate_has_closed(self, site, operator):
        week = 7 * 24 * 3600
        for life in ({"start": -2, "end": 0}, {"start": 0, "end": 2, "dispatchGateClosureSeconds": week}):
            asset = (await site.allocate(**life)).json()
            answer = problem(await operator.delete(f"{site.url}/{asset['id']}"), 409, "allocation-stands")
            assert "gate" in answer["detail"]

    async def test_is_possible_while_the_first_gate_is_open(self, site, operator):
        """Of the very next period whose gate closes."""
        now = datetime.now(UTC)
        next_period = floor_to_period(now) + QUARTER
        gate_s = 0 if next_period - now > timedelta(minutes=1) else 120  # none closes during the test
        start = floor_to_period(now + timedelta(seconds=gate_s)) + QUARTER
        life = {"start": wire(start), "end": wire(start + DAY), "dispatchGateClosureSeconds": gate_s}
        asset = (await operator.post(site.url, json=new_asset(site.physical, **life))).json()
        assert (await operator.delete(f"{site.url}/{asset['id']}")).status_code == 204

    async def test_is_refused_where_something_is_traded(self, site, operator):
        asset = (await site.allocate()).json()
        trade = {
            "tradeID": "1",
            "assetID": asset["id"],
            "time": asset["start"],
            "side": "SELL",
            "volume": 0.1,
            "price": 50,
            "market": "DAY_AHEAD",
        }
        assert (await operator.post("/settlements/wholesale-trades", json=[trade])).status_code == 200
        answer = problem(await operator.delete(f"{site.url}/{asset['id']}"), 409, "allocation-stands")
        assert "traded" in answer["detail"]
        assert (await operator.get(f"{site.url}/{asset['id']}")).status_code == 200


class TestDescribing:
    async def test_is_the_holders_to_change(self, site, operator):
        asset = (await site.allocate()).json()
        url, trader = f"{site.url}/{asset['id']}", site.organisation.trader
        portfolio = await trader.post(f"/organisations/{site.organisation.id}/portfolios", json={"name": "North"})
        known = await trader.get(url)
        body, condition = {"name": "Loom", "portfolioID": portfolio.json()["id"]}, {"If-Match": known.headers["etag"]}
        changed = await trader.change(url, json=body, headers=condition)
        assert changed.status_code == 200, changed.text
        assert (changed.json()["name"], changed.json()["portfolioID"]) == ("Loom", portfolio.json()["id"])
        renamed = await trader.change(url, json={"name": "Loom 9"})
        assert (renamed.json()["name"], renamed.json()["portfolioID"]) == ("Loom 9", portfolio.json()["id"])
        assert (await trader.change(url, json={"name": "Loom"})).status_code == 200
        body = {"portfolioID": str(uuid4())}
        answer = problem(await trader.change(url, json=body), 422, "unknown-portfolio")
        assert answer["errors"][0]["pointer"] == "/portfolioID"
        stale = await trader.change(url, json={"name": "Other"}, headers=condition)
        assert stale.status_code == 412
        within = {"If-Match": (await trader.get(url)).headers["etag"]}
        assert (await trader.change(url, json={"portfolioID": None})).json()["portfolioID"] is None
        stale = await trader.change(url, json={"name": "Other"}, headers=within)
        assert stale.status_code == 412, "it has left its portfolio since"
        assert (await trader.get(url)).json()["name"] == "Loom"
        assert (await operator.change(url, json={"name": "Mine"})).status_code == 403

    async def test_of_another_organisations_asset_is_not_found_under_ones_own(self, site, new_organisation):
        """Nor is it read there, whether or not this process knows it already."""
        asset, stranger = (await site.allocate()).json(), await new_organisation()
        url = f"/organisations/{stranger.id}/virtual-assets/{asset['id']}"
        assert (await stranger.trader.change(url, json={"name": "Mine"})).status_code == 404
        for rest in ("", "/schedule", "/blocks", "/state-of-energy/latest", "/adjustments", "/schedule-history"):
            assert (await stranger.trader.get(url + rest)).status_code == 404, rest
        assert (await site.organisation.trader.get(f"{site.url}/{asset['id']}")).json() == asset

    async def test_is_undone_where_the_asset_was_locked_for_too_long(self, site, monkeypatch):
        """Finalisation waits for changes only so long."""
        asset = (await site.allocate()).json()
        url = f"{site.url}/{asset['id']}"
        monkeypatch.setattr(asset_lookup, "MAX_LOCK_S", -1.0)
        assert (await site.organisation.trader.change(url, json={"name": "Late"})).status_code >= 500
        assert (await site.organisation.trader.get(url)).json() == asset
