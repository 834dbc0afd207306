"""When capacity is lost after a schedule was accepted, gate closure cuts what no longer fits and nothing else."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any
from uuid import UUID

import pytest
from tests.clock_changes import next_day_of
from tests.emitted import events_of
from tests.people import People
from tests.virtual_assets.conftest import ASYMMETRIC, QUARTER, Battery, new_asset, register, tomorrow, wire
from tests.virtual_assets.test_schedules import problem

from gridloom.kernel.market_time import market_day_of, market_day_window, period_number
from gridloom.platform.http.application import Application
from gridloom.platform.jobs import run_due_platform_jobs
from gridloom.virtual_assets import store
from gridloom.virtual_assets.backing.shortfall import load_shortfalls_of_each
from gridloom.virtual_assets.history.store import read_cuts, read_powers_as_of
from gridloom.virtual_assets.schedule.change.apply import CLOSE_GATE

GATE = timedelta(seconds=480)


async def lose(
    battery: Battery, first: int, end: int, *, power: float = 0.0, energy: float = 0.0, charge: float | None = None
) -> str:
    """Have the physical battery miss something in these periods of the virtual one; the same power either way unless
    `charge` says otherwise."""
    answer = await battery.organisation.engineer.post(
        f"/physical-assets/{battery.physical[0]['id']}/unavailability",
        json={
            "description": "A transformer trips",
            "type": "OUTAGE",
            "start": wire(battery.start + first * QUARTER),
            "end": wire(battery.start + end * QUARTER),
            "volume": {
                "energyCapacity": energy,
                "powerCapacity": {"charge": power if charge is None else charge, "discharge": power},
            },
        },
    )
    assert answer.status_code == 201, answer.text
    return answer.headers["Location"]


async def advance(edge: Application, until: datetime) -> None:
    async def set_clock(moment: datetime) -> None:
        await edge.pool.execute(
            "update sandbox_clock set ahead = greatest(ahead, $1::timestamptz - clock_timestamp())", moment
        )

    await run_due_platform_jobs(edge.pool, until, set_clock)


async def powers(battery: Battery) -> list[float]:
    return [point["power"] for point in (await battery.life())["schedule"]]


async def adjustments(battery: Battery, **window: str) -> list[tuple[int, float, float, str]]:
    answer = await battery.client.get(f"{battery.url}/adjustments", params=window)
    assert answer.status_code == 200, answer.text
    return [
        (
            round((datetime.fromisoformat(entry["timestamp"]) - battery.start) / QUARTER),
            entry["acceptedSchedule"],
            entry["adjustedSchedule"],
            entry["reason"],
        )
        for entry in answer.json()
    ]


@pytest.fixture
async def make(fresh_app: Any) -> AsyncIterator[Any]:
    """Makes batteries on a service whose clock can be moved; it starts at `since`, if that is given."""
    async with AsyncExitStack() as stack:

        async def battery(
            *, since: datetime | None = None, parameters: dict[str, float] | None = None, **changes: Any
        ) -> Battery:
            edge = await fresh_app(since)
            people = await stack.enter_async_context(People(edge))
            operator = (await people.operator()).client
            organisation = await people.new_organisation()
            physical = [await register(operator, organisation.id, **(ASYMMETRIC | (parameters or {})))]
            url = f"/organisations/{organisation.id}/virtual-assets"
            answer = await operator.post(url, json=new_asset(physical, **(ASYMMETRIC | changes)))
            assert answer.status_code == 201, answer.text
            return Battery(organisation, organisation.trader, answer.json(), physical, edge)

        yield battery


class TestLostPower:
    async def test_is_cut_when_the_gate_closes_and_not_before(self, make):
        battery = await make(since=tomorrow() - timedelta(hours=6))
        await battery.put([-400, 500, 500, 500, 500, 0])
        await lose(battery, 2, 4, power=900)
        await advance(battery.edge, battery.start + 2 * QUARTER - GATE - timedelta(minutes=3))
        assert await adjustments(battery) == []
        await advance(battery.edge, battery.start + 2 * QUARTER - GATE + timedelta(seconds=5))
        assert await adjustments(battery) == [(2, 500, 300, "AVAILABILITY")]
        assert (await powers(battery))[:6] == [-400, 500, 500, 500, 500, 0], "it was not announced"
        await advance(battery.edge, battery.end)
        assert await adjustments(battery) == [(2, 500, 300, "AVAILABILITY"), (3, 500, 300, "AVAILABILITY")]
        table = await battery.client.get(
            f"{battery.url}/adjustments", headers={"Accept": "text/csv"}, params={"limit": 1}
        )
        assert table.text.splitlines()[1] == f'"{wire(battery.start + 2 * QUARTER)}",500,300,"AVAILABILITY"'
        assert 'rel="next"' in table.headers["Link"]
        assert (await powers(battery))[:6] == [-400, 500, 500, 500, 500, 0]

    async def test_shows_in_the_block_at_once_and_bounds_new_schedules(self, make):
        battery = await make()
        await lose(battery, 2, 4, power=700)
        capacity = (await battery.life())["powerCapacity"]
        assert [entry["chargePowerCapacity"] for entry in capacity[:5]] == [1000, 1000, 300, 300, 1000]
        assert [entry["dischargePowerCapacity"] for entry in capacity[:5]] == [1200, 1200, 500, 500, 1200]
        assert {entry["ratedChargePowerCapacity"] for entry in capacity} == {1000}
        assert {entry["ratedDischargePowerCapacity"] for entry in capacity} == {1200}
        subject = f"virtual-assets/{battery.asset['id']}"
        told = (await events_of(battery.edge.pool, battery.organisation.id, subject=subject))[-1]
        assert told.type == "virtual-asset.availability-changed"
        [lost] = told.data["periods"]
        assert (lost["start"], lost["end"]) == (wire(battery.start + 2 * QUARTER), wire(battery.start + 4 * QUARTER))
        assert (told.data["start"], told.data["end"]) == (lost["start"], lost["end"])
        assert (lost["availableChargePower"], lost["availableDischargePower"]) == (300, 500)
        for power in (600, -400):
            answer = problem(await battery.put([power, power], offset=1), 422, "power-beyond-available")
            assert answer["firstPeriod"] == wire(battery.start + 2 * QUARTER)
        assert (await battery.put([500, -300], offset=2)).status_code == 200

    async def test_is_missing_in_closed_periods_whatever_becomes_of_it_later(self, make):
        battery = await make()
        lost = await lose(battery, 0, 6, power=600, charge=500)
        await advance(battery.edge, battery.start + QUARTER)
        await lose(battery, 0, 5, power=300, charge=250)
        subject = f"virtual-assets/{battery.asset['id']}"
        told = (await events_of(battery.edge.pool, battery.organisation.id, subject=subject))[-1]
        ahead = (wire(battery.start + QUARTER), wire(battery.start + 5 * QUARTER))
        assert (told.data["start"], told.data["end"]) == ahead, "what is over is not told"
        await advance(battery.edge, battery.start + 3 * QUARTER)
        assert (await battery.organisation.engineer.delete(lost)).status_code == 204
        pool = battery.edge.pool
        asset = await store.read_asset_by_key(
            pool, await pool.fetchval("select key from asset where id = $1", UUID(battery.asset["id"]))
        )
        assert asset is not None
        found = await load_shortfalls_of_each(pool, [asset], asset.first + 1, asset.first + 6, battery.end)
        assert found[asset.key].missing == pytest.approx([0.5, 0.75, 0.75, 0.25, 0.0])

    async def test_is_borne_in_part_by_capacity_that_is_accepted_after_it(self, make):
        battery = await make(parameters={"ratedChargePower": 2000, "ratedDischargePower": 2400, "energyCapacity": 4000})
        day = market_day_window(market_day_of(battery.start) + timedelta(days=1))
        place = round((day.start - battery.start) / QUARTER)
        assert (await battery.put([1200, -400], offset=place)).status_code == 200
        path = f"/physical-assets/{battery.physical[0]['id']}/ancillary"
        block = {"deliveryDay": market_day_of(day.start).isoformat(), "product": "POS_00_04"}
        bids = [{"capacityPrice": 1, "offeredCapacity": 1000, "energyPrice": 90}]
        placed = await battery.client.post(f"{path}/bids", json=[{**block, "bids": bids}])
        assert placed.status_code == 201, placed.text
        await lose(battery, place, place + 4, power=1200, charge=0)
        await advance(battery.edge, day.start - timedelta(hours=2))
        result = {"bidID": placed.json()[0]["bids"][0]["id"], "accepted": True, "acceptedCapacity": 1000}
        recorded = await battery.client.post(f"{path}/results", json=[{**block, "results": [result]}])
        assert recorded.status_code == 201, recorded.text
        await advance(battery.edge, day.start - timedelta(hours=1))
        gate = await battery.edge.pool.fetchval("select due from job where kind = $1", CLOSE_GATE)
        assert gate == day.start - GATE, "the trader can still repair what will be cut then"
        await advance(battery.edge, day.start + QUARTER)
        # 1200 kW are left for the 1200 kW of the virtual asset and the 1000 kW that were accepted.
        [(cut, accepted, adjusted, reason)] = await adjustments(battery)
        assert (cut, accepted, reason) == (place, 1200, "AVAILABILITY")
        assert adjusted == pytest.approx(1200 * 1200 / 2200)

    async def test_emits_an_event_and_is_stored_as_a_version(self, make):
        battery = await make()
        await battery.put([500] * 4)
        await lose(battery, 0, 2, power=1000)
        await advance(battery.edge, battery.end)
        versions = (await battery.client.get(f"{battery.url}/schedule-history")).json()
        assert versions[0]["kind"] == "ADJUSTMENT"
        assert versions[0]["authorKind"] == "PLATFORM"
        events = await battery.edge.pool.fetch(
            """select data from event_outbox where type = 'schedule.adjusted'
               union all select data from event where type = 'schedule.adjusted'"""
        )
        edges = [wire(battery.start + place * QUARTER) for place in range(3)]
        told = {(event["data"]["start"], event["data"]["end"], event["data"]["reason"]) for event in events}
        assert told == {(start, end, "AVAILABILITY") for start, end in pairwise(edges)}
        logbook = await battery.organisation.viewer.get(
            f"/physical-assets/{battery.physical[0]['id']}/logbook", params={"type": "ADJUSTMENT"}
        )
        assert [entry["source"] for entry in logbook.json()] == ["SYSTEM", "SYSTEM"]

    async def test_is_listed_from_a_start_to_the_assets_end_or_from_its_start_to_an_end(self, make):
        battery = await make()
        await battery.put([500] * 4)
        await lose(battery, 0, 4, power=1000)
        await advance(battery.edge, battery.end)
        for window, periods in (
            ({"start": 1}, [1, 2, 3]),
            ({"end": 3}, [0, 1, 2]),
            ({"start": 1, "end": 3}, [1, 2]),
            ({"start": 500}, []),
            ({"end": -500}, []),
        ):
            asked = {edge: wire(battery.start + place * QUARTER) for edge, place in window.items()}
            assert [period for period, *_ in await adjustments(battery, **asked)] == periods, window
        page = await battery.client.get(f"{battery.url}/adjustments", params={"limit": 3})
        rest = await battery.client.get(page.links["next"]["url"])
        assert [len(page.json()), len(rest.json())] == [3, 1]


def in_days(days: int) -> dict[str, str]:
    """A life so far ahead that what is recorded now is announced in time."""
    start = tomorrow() + timedelta(days=days)
    return {"start": wire(start), "end": wire(start + timedelta(days=2))}


class TestEnergyLostAsAnnounced:
    async def test_takes_its_content_with_it_and_cuts_charging_that_no_longer_fits(self, make):
        battery = await make(**in_days(2))
        await battery.put([-1000] * 4)  # to 1900 kWh
        await lose(battery, 0, 192, energy=500)  # 1500 kWh are left, and 750 of the 1000 in store
        assert (await battery.read())["availableEnergyCapacity"] == 1500
        await advance(battery.edge, battery.end)
        [cut] = await adjustments(battery)
        assert (cut[0], cut[3]) == (3, "STATE_OF_ENERGY_BOUNDARIES")
        assert cut[2] == pytest.approx(-(1500 - 1425) / 0.9 * 4)
        assert (await powers(battery))[3] == pytest.approx(cut[2]), "the schedule follows what was announced"
        assert (await battery.energies())[-1] == pytest.approx(1500 + 250)
        assert (await battery.read())["availableEnergyCapacity"] == 1500, "as its life ended"

    async def test_cuts_the_discharging_that_relied_on_what_was_cut(self, make):
        battery = await make(**in_days(2))
        await battery.put([-1000] * 4 + [0] * 4 + [900] * 7)  # 1900 kWh, then down to 150
        await lose(battery, 0, 4, power=1000)
        await advance(battery.edge, battery.end)
        cut = await adjustments(battery)
        assert [(p, r) for p, _, _, r in cut[:4]] == [(p, "AVAILABILITY") for p in range(4)]
        assert {r for _, _, _, r in cut[4:]} == {"STATE_OF_ENERGY_BOUNDARIES"}
        assert [p for p, _, _, _ in cut[4:]] == [12, 13, 14]
        energies = await battery.energies()
        assert min(energies) >= -1e-6
        assert energies[-1] == pytest.approx(0, abs=1e-6)

    async def test_does_not_keep_the_trader_from_changes_that_improve_it(self, make):
        battery = await make(**in_days(2))
        await battery.put([-1000] * 4)
        await lose(battery, 0, 192, energy=500)
        assert (await battery.put([100], offset=50)).status_code == 200
        problem(await battery.put([-200], offset=60), 422, "energy-out-of-bounds")

    async def test_refuses_charging_that_comes_with_an_improvement(self, make):
        battery = await make(**in_days(2))
        await battery.put([-1000] * 4)  # to 1900 kWh
        await lose(battery, 20, 192, energy=500)  # 1500 kWh are left
        await advance(battery.edge, battery.start - timedelta(hours=1))
        answer = await battery.put([380, 0, -1000], offset=18)  # 1800 kWh, of which 1350 are in reach, and 225 more
        assert answer.status_code == 422
        assert answer.json()["firstPeriod"] == wire(battery.start + 20 * QUARTER)
        assert answer.json()["excess"] == pytest.approx(75)
        assert (await battery.put([380, 0, 0], offset=18)).status_code == 200
        await advance(battery.edge, battery.end)
        assert await adjustments(battery) == []


class TestCycleLimit:
    async def test_is_cut_per_market_day(self, make):
        battery = await make(dailyCycleLimit=0.5)  # 1000 kWh a day
        charge = [-1000.0] * 4
        answer = await battery.put([900.0] * 4 + charge + [800.0] * 4 + charge, offset=40)
        assert answer.status_code == 200
        await advance(battery.edge, battery.end)
        cut = await adjustments(battery)
        assert {reason for _, _, _, reason in cut} >= {"CYCLE_LIMIT"}
        assert [p for p, _, _, r in cut if r == "CYCLE_LIMIT"] == [48, 49, 50, 51]
        assert [after for p, _, after, _ in cut if p in (48, 49)] == [pytest.approx(400), pytest.approx(0)]
        pool, first = battery.edge.pool, period_number(battery.start)
        key = await pool.fetchval("select key from asset where id = $1", UUID(battery.asset["id"]))
        cuts = await read_cuts(pool, key, first + 48, first + 50)
        assert cuts.unannounced_kw.tolist() == [0, 0], "the asset's own limit is its holder's"

    @pytest.mark.parametrize("hours", [23, 25])
    async def test_counts_market_days_of_23_and_25_hours(self, make, hours):
        start, midnight = (window := market_day_window(next_day_of(hours, in_days=4))).start, window.end
        lived = {"start": wire(start), "end": wire(midnight + timedelta(hours=24))}
        battery = await make(since=midnight - timedelta(days=3), dailyCycleLimit=0.25, **lived)  # 500 kWh
        before = round((midnight - battery.start) / QUARTER)
        assert before == 4 * hours
        await battery.put([800.0, 800.0, 400.0, 400.0], offset=before - 2)
        await battery.put([400.0] * 2, offset=before - 8)
        await advance(battery.edge, battery.end)
        assert [(p, r) for p, _, _, r in await adjustments(battery)] == [(before - 1, "CYCLE_LIMIT")]

    async def test_of_the_year_is_cut(self, make):
        battery = await make(annualCycleLimit=0.3)  # 600 kWh
        await battery.put([900.0] * 4, offset=10)
        await advance(battery.edge, battery.end)
        cut = await adjustments(battery)
        assert [(p, r) for p, _, _, r in cut] == [(12, "CYCLE_LIMIT"), (13, "CYCLE_LIMIT")]
        assert cut[0][2] == pytest.approx(600)
        pool, first = battery.edge.pool, period_number(battery.start) + 10
        key = await pool.fetchval("select key from asset where id = $1", battery.asset["id"])
        done_kw, accepted_kw = await read_powers_as_of(pool, key, battery.end, first, first + 4)
        assert done_kw.tolist() == pytest.approx([900, 900, 600, 0])
        assert accepted_kw.tolist() == pytest.approx([900] * 4)

    async def test_of_the_year_leaves_out_what_was_exported_the_year_before(self, make):
        midnight = datetime.fromisoformat("2027-12-31T23:00:00+00:00")
        lived = {"start": wire(midnight - timedelta(hours=12)), "end": wire(midnight + timedelta(days=1))}
        battery = await make(since=midnight - timedelta(days=2), annualCycleLimit=0.3, **lived)  # 600 kWh
        assert (await battery.put([800.0] * 2)).status_code == 200
        over_both = await battery.put([800.0] * 2, offset=80)
        assert (over_both.status_code, over_both.json()["expectedCuts"]) == (200, []), "400 kWh in each"
        await advance(battery.edge, midnight + timedelta(hours=2))
        answer = await battery.put([800.0] * 2 + [-1000.0] * 4 + [800.0] * 2, offset=80)
        assert answer.status_code == 200, answer.text
        cuts = [(cut["timestamp"], cut["adjustedSchedule"]) for cut in answer.json()["expectedCuts"]]
        assert cuts == [(wire(battery.start + 87 * QUARTER), pytest.approx(0, abs=1e-6))]

    async def test_lets_no_change_of_what_it_cuts_leave_the_bounds(self, make):
        """The third quarter-hour is cut to nothing; what is asked for there anew has to be in store all the same."""
        battery = await make(dailyCycleLimit=0.025, initialStateOfChargePercentage=10)  # 50 of 200 kWh
        cut = (await battery.put([100.0] * 3)).json()["expectedCuts"]
        assert [(point["timestamp"], point["reason"]) for point in cut] == [
            (wire(battery.start + 2 * QUARTER), "CYCLE_LIMIT")
        ]
        answer = await battery.put([1000.0], offset=2)
        assert (answer.status_code, answer.json()["type"].rsplit("/", 1)[1]) == (422, "energy-out-of-bounds")


class TestRating:
    async def test_that_falls_below_the_promise_shrinks_what_is_available(self, make, app):
        battery = await make()
        await battery.put([800] * 2)
        operator = battery.organisation.admin
        answer = await operator.put(
            f"/physical-assets/{battery.physical[0]['id']}/parameters",
            json={
                "ratedChargePower": 500,
                "ratedDischargePower": 500,
                "energyCapacity": 2000,
                "chargeEfficiency": 0.9,
                "dischargeEfficiency": 0.9,
                "validFrom": wire(battery.start + QUARTER),
            },
        )
        assert answer.status_code == 200, answer.text
        await advance(battery.edge, battery.end)
        assert await adjustments(battery) == [(1, 800, 500, "AVAILABILITY")]


class TestCarvingWhileCapacityIsMissing:
    """200 of 1000 kW of charging and 300 of 1200 kW of discharging are out, so each block can use 80 and 75 % of what
    it is rated for."""

    async def test_finds_a_schedule_in_the_way_that_needs_what_is_still_available(self, make):
        battery = await make()
        await battery.put([0, 600])
        await lose(battery, 0, 4, power=300, charge=200)
        answer = problem(await battery.carve(0, 16, "FCR", 500, 500), 409, "schedule-in-the-way")
        assert answer["firstPeriod"] == wire(battery.start + QUARTER)
        assert (await battery.carve(0, 16, "FCR", 400, 400)).status_code == 201
        await advance(battery.edge, battery.end)
        assert await adjustments(battery) == []

    async def test_leaves_a_schedule_that_does_not_fit_to_be_cut_and_loses_nothing_of_it(self, make):
        battery = await make()
        await battery.put([1000])
        await lose(battery, 0, 4, power=300, charge=200)
        assert (await battery.carve(0, 4, "WHOLESALE", 500, 500)).status_code == 201
        assert [block["schedule"][0]["power"] for block in (await battery.blocks())[:2]] == [625, 375]
        await advance(battery.edge, battery.end)
        assert await adjustments(battery) == [(0, 1000, 900, "AVAILABILITY")]
