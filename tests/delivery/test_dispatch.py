"""Schedules of virtual assets reach the batteries behind them."""

from __future__ import annotations

import io
import json
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from tests.delivery.conftest import Yard
from tests.virtual_assets.conftest import QUARTER, wire

from gridloom.delivery.dispatch.reading import DispatchSeries
from gridloom.delivery.inputs.loading import load_zone
from gridloom.delivery.inputs.store import read_awarded_reserves
from gridloom.delivery.model import PartKind
from gridloom.delivery.routes import dispatch_json, stream_dispatch
from gridloom.delivery.runs.due_gates import DUE_GATES_JOB
from gridloom.kernel.market_time import block_window, market_day_of, period_number, period_start
from gridloom.platform.jobs.attempt import RUNS


class TestDispatch:
    async def test_has_the_battery_do_what_its_virtual_asset_is_scheduled_for(self, yard: Yard) -> None:
        battery = await yard.battery()
        virtual = await yard.virtual(battery)
        await yard.schedule(virtual, [400.0, -200.0, 0.0, 100.0])
        await yard.gate_of(0)
        answer = await yard.dispatch(battery)
        assert [point["power"] for point in answer["dispatch"][:4]] == [400.0, -200.0, 0.0, 100.0]
        assert answer["dispatch"][0]["parts"] == [{"kind": "VIRTUAL", "power": 400.0, "virtualAssetID": virtual["id"]}]
        assert answer["dispatch"][1]["parts"] == [{"kind": "VIRTUAL", "power": -200.0, "virtualAssetID": virtual["id"]}]
        assert answer["dispatch"][2]["parts"] == []
        read = await yard.owner.trader.get(f"/physical-assets/{battery['id']}/dispatch")
        assert read.headers["etag"] == f'"{answer["version"]}"'
        # Half of 2,000 kWh at first; a quarter-hour of 400 kW takes 100 ÷ 0.95 kWh, one of -200 kW brings 50 × 0.92.
        levels = [50.0, 50 - 100 / 0.95 / 20, 50 - (100 / 0.95 - 50 * 0.92) / 20]
        assert [point["stateOfChargePercentage"] for point in answer["dispatch"][:3]] == pytest.approx(levels)

    async def test_is_planned_from_what_a_virtual_asset_has_stored_by_then(self, yard: Yard) -> None:
        losses = {"chargeEfficiency": 0.85, "dischargeEfficiency": 0.8}
        virtual = await yard.virtual(await yard.battery(), initialStateOfChargePercentage=40, **losses)
        await yard.schedule(virtual, [400.0, -200.0])
        rows = [
            {
                "assetID": virtual["id"],
                "time": wire(yard.start + place * QUARTER),
                "direction": way,
                "volume": mwh,
                "price": 9,
            }
            for place, way, mwh in ((0, "POS", 0.04), (1, "NEG", 0.02))
        ]
        assert (await yard.operator.post("/settlements/afrr-energy", json=rows)).status_code == 200
        first = period_number(yard.start)
        async with yard.edge.pool.acquire() as db:
            zones = [await load_zone(db, "TenneT", first + place, first + 96) for place in (0, 1, 2, 12)]
        after_one = 800 - 100 / 0.8 - 40 / 0.8
        after_both = after_one + 50 * 0.85 + 20 * 0.85
        stored_kwh = [zone.inputs.energies_kwh[0].tolist() for zone in zones]
        expected_kwh = [[kwh, 2000, 1000] for kwh in (800, after_one, after_both, after_both)]
        assert stored_kwh == [pytest.approx(row) for row in expected_kwh]

    async def test_splits_a_schedule_by_shares(self, yard: Yard) -> None:
        one, two = await yard.battery(), await yard.battery()
        virtual = await yard.virtual(one, two)
        await yard.schedule(virtual, [600.0])
        await yard.gate_of(0)
        assert await yard.powers(one, 1) == [300.0]
        assert await yard.powers(two, 1) == [300.0]

    async def test_nets_opposite_schedules_and_records_each_part(self, yard: Yard) -> None:
        one, two = await yard.battery(), await yard.battery()
        seller, buyer = await yard.virtual(one), await yard.virtual(two)
        await yard.schedule(seller, [600.0])
        await yard.schedule(buyer, [-400.0])
        await yard.gate_of(1)
        assert await yard.powers(one, 1) == [200.0]
        assert await yard.powers(two, 1) == [0.0]
        facts = (await yard.operator.get("/settlements/net-off")).json()
        assert {(fact["assetID"], fact["volume"]) for fact in facts} == {(seller["id"], 0.1), (buyer["id"], -0.1)}
        assert {fact["origin"] for fact in facts} == {"COMPUTED"}

    async def test_lets_a_posted_net_off_prevail(self, yard: Yard) -> None:
        one, two = await yard.battery(), await yard.battery()
        seller, buyer = await yard.virtual(one), await yard.virtual(two)
        await yard.schedule(seller, [600.0])
        await yard.schedule(buyer, [-400.0])
        row = {"assetID": seller["id"], "time": wire(yard.start), "volume": 0.09}
        assert (await yard.operator.post("/settlements/net-off", json=[row])).status_code == 200
        await yard.gate_of(1)
        facts = (await yard.operator.get("/settlements/net-off", params={"asset-id": seller["id"]})).json()
        assert [fact["volume"] for fact in facts] == [0.09]

    async def test_makes_no_new_version_where_nothing_has_changed(self, yard: Yard) -> None:
        battery = await yard.battery()
        virtual = await yard.virtual(battery)
        await yard.schedule(virtual, [400.0, -200.0])
        await yard.gate_of(1)  # after midnight, when another market day has come into view
        version = (await yard.dispatch(battery))["version"]
        runs = len((await yard.operator.get("/delivery/runs")).json())
        await yard.gate_of(8)
        assert (await yard.dispatch(battery))["version"] == version
        assert len((await yard.operator.get("/delivery/runs")).json()) == runs

    async def test_answers_what_was_planned_earlier(self, yard: Yard) -> None:
        battery = await yard.battery()
        virtual = await yard.virtual(battery)
        await yard.schedule(virtual, [0.0, 400.0])
        await yard.gate_of(-4)
        earlier = await yard.now()
        await yard.schedule(virtual, [0.0, 100.0])
        await yard.gate_of(-3)
        assert await yard.powers(battery, 2) == [0.0, 100.0]
        before = (await yard.dispatch(battery, **{"as-of": wire(earlier)}))["dispatch"]
        assert [point["power"] for point in before[:2]] == [0.0, 400.0]

    async def test_has_a_state_of_charge_of_what_the_battery_can_hold_then(self, yard: Yard) -> None:
        battery = await yard.battery(energyCapacity=4000)
        await yard.virtual(battery)
        await yard.gate_of(-4)
        before = await yard.dispatch(battery)
        stored = before["dispatch"][0]["stateOfChargePercentage"]
        read_only = ("version", "recordedAt")
        smaller = {name: value for name, value in battery["parameters"].items() if name not in read_only}
        smaller |= {"energyCapacity": 2000, "validFrom": wire(yard.start + QUARTER)}
        changed = await yard.owner.admin.put(f"/physical-assets/{battery['id']}/parameters", json=smaller)
        assert changed.status_code == 200, changed.text
        await yard.gate_of(-3)
        after = await yard.dispatch(battery)
        assert after["version"] > before["version"]
        charges = [point["stateOfChargePercentage"] for point in after["dispatch"]]
        assert charges == [stored] + [2 * stored] * (len(charges) - 1)

    async def test_tells_the_owner_when_the_battery_must_do_something_else(self, yard: Yard) -> None:
        battery = await yard.battery()
        virtual = await yard.virtual(battery)
        await yard.gate_of(-4)
        before = await _told(yard)
        await yard.schedule(virtual, [400.0])
        await yard.gate_of(-3)
        assert await _told(yard) == before + 1
        await yard.gate_of(-1)
        assert await _told(yard) == before + 1

    async def test_cuts_what_no_battery_can_serve_and_records_the_adjustment(self, yard: Yard) -> None:
        one, two = await yard.battery(), await yard.battery(energyCapacity=500)
        virtual = await yard.virtual(one, two, energyCapacity=1000)
        await yard.schedule(virtual, [900.0] * 2)
        await yard.gate_of(-8)
        # The larger battery falls out without a word of energy; the smaller one holds 250 kWh.
        await lose(yard, one, 1000.0)
        await yard.gate_of(2)
        powers = [await yard.powers(battery, 2) for battery in (one, two)]
        assert powers[0] == [0.0, 0.0]
        answer = await yard.trader.trader.get(
            f"{yard.url(virtual)}/adjustments",
            params={"start": wire(yard.start), "end": wire(yard.start + timedelta(hours=1))},
        )
        cut = answer.json()
        assert [entry["reason"] for entry in cut] == ["AVAILABILITY"] * 2
        assert [entry["adjustedSchedule"] for entry in cut] == pytest.approx(powers[1])

    async def test_comes_as_csv_arrow_and_parquet(self, yard: Yard) -> None:
        battery = await yard.battery()
        virtual = await yard.virtual(battery)
        await yard.schedule(virtual, [400.0, -200.0])
        await yard.gate_of(0)
        tables = {}
        for kind in ("text/csv", "application/vnd.apache.arrow.stream", "application/vnd.apache.parquet"):
            answer = await yard.owner.trader.get(
                f"/physical-assets/{battery['id']}/dispatch",
                params={"start": wire(yard.start), "end": wire(yard.start + 2 * QUARTER)},
                headers={"Accept": kind},
            )
            assert answer.status_code == 200, answer.text
            assert answer.headers["etag"] == f'"{(await yard.dispatch(battery))["version"]}"'
            tables[kind] = answer.content
        assert pa.csv.read_csv(io.BytesIO(tables["text/csv"]))["power"].to_pylist() == [400, -200]
        arrow = pa.ipc.open_stream(tables["application/vnd.apache.arrow.stream"]).read_all()
        assert arrow["virtualPower"].to_pylist() == [400.0, -200.0]
        parquet = pa.parquet.read_table(io.BytesIO(tables["application/vnd.apache.parquet"]))
        assert parquet["power"].to_pylist() == [400.0, -200.0]

    async def test_holds_back_what_is_reserved_for_balancing(self, yard: Yard) -> None:
        battery = await yard.battery()
        virtual = await yard.virtual(battery, energyCapacity=1800)
        answer = await yard.trader.trader.post(
            f"{yard.url(virtual)}/blocks",
            json={
                "start": wire(_block_start(yard)),
                "end": wire(_block_start(yard) + timedelta(hours=4)),
                "market": "FCR",
                "ratedChargePower": 300,
                "ratedDischargePower": 300,
            },
        )
        assert answer.status_code == 201, answer.text
        await yard.gate_of(0)
        place = round((_block_start(yard) - yard.start) / QUARTER)
        point = (await yard.dispatch(battery))["dispatch"][place]
        assert point["power"] == 0.0
        assert point["parts"] == [{"kind": "FCR", "power": 300.0, "virtualAssetID": virtual["id"]}]

    async def test_keeps_energy_for_as_long_as_was_promised(self, yard: Yard) -> None:
        """For how many minutes balancing power is kept in store is a setting; what was promised under another stays."""
        large = {"ratedChargePower": 4000, "ratedDischargePower": 4000, "energyCapacity": 8000}
        allowed = {"minStateOfCharge": 0.1, "maxStateOfCharge": 0.95}
        other, awarded = await yard.battery(**large, **allowed), await yard.battery(**large, **allowed)
        virtual = await yard.virtual(other, awarded, energyCapacity=1800)
        day = market_day_of(yard.start) + timedelta(days=1)
        start = block_window(day, 4, 8).start
        block = {"start": wire(start), "end": wire(start + timedelta(hours=4)), "market": "FCR"}
        power = {"ratedChargePower": 200, "ratedDischargePower": 200}
        answer = await yard.trader.trader.post(f"{yard.url(virtual)}/blocks", json={**block, **power})
        assert answer.status_code == 201, answer.text
        bids = f"/physical-assets/{awarded['id']}/ancillary"
        entries = []
        for product, offered_kw in (("POS_04_08", 1000), ("NEG_04_08", 2000), ("POS_08_12", 3000)):
            entry = {"deliveryDay": day.isoformat(), "product": product}
            bid = {"capacityPrice": 5, "offeredCapacity": offered_kw, "energyPrice": 100}
            offered = await yard.owner.trader.post(f"{bids}/bids", json=[{**entry, "bids": [bid]}])
            assert offered.status_code == 201, offered.text
            bid_id = offered.json()[0]["bids"][0]["id"]
            won = {"bidID": bid_id, "accepted": True, "acceptedCapacity": offered_kw, "settlementPrice": 5}
            answer = await yard.operator.post(f"{bids}/results", json=[{**entry, "results": [won]}])
            assert answer.status_code < 300, answer.text
            entries.append((entry, bid_id))
        await yard.edge.pool.execute("update virtual_block set reserve_minutes = 30 where market = 'FCR'")
        await yard.edge.pool.execute(
            "update capacity_holding set energy_kwh = energy_kwh / 2 where holder_id = any($1::text[]::uuid[])",
            [bid_id for _, bid_id in entries],
        )
        await lose(yard, other, 0.0, 1000.0, start)
        first = period_number(start)
        async with yard.edge.pool.acquire() as db:
            limits = (await load_zone(db, "TenneT", first, first + 1)).zone.limits
        assert limits.low_kwh[:, 0].tolist() == pytest.approx([700 + 50 / 0.95, 800 + (50 + 500) / 0.95])
        high_kwh = [0.95 * 7000 - 50 * 0.92, 0.95 * 8000 - (50 + 1000) * 0.92]
        assert limits.high_kwh[:, 0].tolist() == pytest.approx(high_kwh)
        powers_kw = (limits.charge_kw[:, 0].tolist(), limits.discharge_kw[:, 0].tolist())
        assert powers_kw == ([4000 - 100, 4000 - 100 - 2000], [4000 - 100, 4000 - 100 - 1000])
        key = await yard.edge.pool.fetchval("select key from asset where id = $1::text::uuid", awarded["id"])
        held = await read_awarded_reserves(yard.edge.pool, [key], start, start + timedelta(hours=8))
        assert {(one.market, one.first - first, one.end - first, one.power_kw, one.reserve_h) for one in held} == {
            ("AFRR_POS", 0, 16, 1000.0, 0.5),
            ("AFRR_NEG", 0, 16, 2000.0, 0.5),
            ("AFRR_POS", 16, 32, 3000.0, 0.5),
        }
        for low, high in ((0, 4), (4, 8)):
            window = (start + timedelta(hours=low), start + timedelta(hours=high))
            found = await read_awarded_reserves(yard.edge.pool, [key], *window)
            assert {one.first - first for one in found} == {4 * low}, "of the blocks in the window"
        for entry, bid_id in entries:
            corrected = {"bidID": bid_id, "accepted": False, "acceptedCapacity": 0, "correction": True}
            answer = await yard.operator.post(f"{bids}/results", json=[{**entry, "results": [corrected]}])
            assert answer.status_code < 300, answer.text
        held = await read_awarded_reserves(yard.edge.pool, [key], start, start + timedelta(hours=8))
        assert held == [], "the latest result counts"


class TestATable:
    async def test_has_each_kind_of_part_in_a_column_of_its_own(self) -> None:
        parts_kw = {(kind, 7): np.full(2, float(2**place)) for place, kind in enumerate(PartKind)}
        parts_kw[PartKind.VIRTUAL, 8] = np.array([100.0, 0.0])
        planned, half = np.array([True, False]), np.full(2, 500.0)
        series = DispatchSeries(1, 2_000_000, planned, half, half, np.full(2, 2000.0), parts_kw)
        [batch] = [one async for one in stream_dispatch(series, {})]
        assert batch.drop_columns(["time"]).to_pylist() == [
            {
                "power": 107.0,
                "virtualPower": 101.0,
                "ownPower": 2.0,
                "driftPower": 4.0,
                "fcrPower": 8.0,
                "afrrPosPower": 16.0,
                "afrrNegPower": 32.0,
                "stateOfChargePercentage": 25.0,
                "acknowledgement": None,
            }
        ]


class TestAnAnswer:
    def test_has_the_parts_of_each_planned_quarter_hour_by_kind_and_by_virtual_asset(self) -> None:
        """Of three quarter-hours the second is not planned. The virtual asset 8 is no more; a part that is less than
        a rounding is left out."""
        kinds = list(PartKind)
        parts_kw = {(kind, 0): np.array([0.0, 0.0, 2.0**place]) for place, kind in enumerate(kinds)}
        for key, power_kw in ((9, 30.0), (8, -20.0), (7, -10.0), (6, 1e-7)):
            parts_kw[PartKind.VIRTUAL, key] = np.array([power_kw, 0.0, -power_kw])
        shuffled = {name: parts_kw[name] for name in sorted(parts_kw, key=lambda name: (name[0] != "FCR", -name[1]))}
        planned, half = np.array([True, False, True]), np.full(3, 500.0)
        series = DispatchSeries(4, 2_000_000, planned, half, half, np.full(3, 2000.0), shuffled)
        battery, ids = uuid4(), {9: uuid4(), 7: uuid4(), 6: uuid4()}
        answer = json.loads(dispatch_json(battery, series, ids, {}))
        named = [{"virtualAssetID": str(ids[7])}, {}, {"virtualAssetID": str(ids[9])}]

        def virtual(*powers: float) -> list[dict[str, Any]]:
            return [{"kind": "VIRTUAL", "power": power, **name} for power, name in zip(powers, named, strict=True)]

        first, third = answer.pop("dispatch")
        assert answer == {"physicalAssetID": str(battery), "version": 4}
        assert first["parts"] == virtual(-10.0, -20.0, 30.0)
        own = [{"kind": str(kind), "power": 2.0**place} for place, kind in enumerate(kinds)]
        assert third["parts"] == [own[0], *virtual(10.0, 20.0, -30.0), *own[1:]]
        assert (first["power"], third["power"]) == (0.0, 7.0)
        assert [one["time"] for one in (first, third)] == [wire(period_start(2_000_000 + place)) for place in (0, 2)]
        assert first["stateOfChargePercentage"] == 25.0


class TestRuns:
    async def test_say_what_was_scheduled_netted_and_spread(self, yard: Yard) -> None:
        one, two = await yard.battery(), await yard.battery()
        await yard.schedule(await yard.virtual(one), [600.0])
        await yard.schedule(await yard.virtual(two), [-400.0])
        await yard.gate_of(0)
        [run, *_] = (await yard.operator.get("/delivery/runs")).json()
        assert run["zones"] == ["TenneT"]
        assert (run["scheduledExport"], run["scheduledImport"]) == (0.15, 0.1)
        assert (run["netted"], run["spread"], run["unserved"]) == (0.1, 0.05, 0.0)
        assert (run["virtualAssets"], run["batteries"], run["method"]) == (2, 2, "CLOSED_FORM")
        assert (await yard.operator.get(f"/delivery/runs/{run['id']}")).json() == run

    async def test_are_listed_page_by_page_the_newest_first(self, yard: Yard) -> None:
        virtual = await yard.virtual(await yard.battery())
        for place in range(3):
            await yard.schedule(virtual, [100.0 * (place + 1)], offset=place)
            await yard.gate_of(place)
        listed = (await yard.operator.get("/delivery/runs")).json()
        assert [run["time"] for run in listed] == sorted((run["time"] for run in listed), reverse=True)
        first = await yard.operator.get("/delivery/runs", params={"limit": 2})
        rest = await yard.operator.get(first.links["next"]["url"].replace("limit=2", "limit=100"))
        assert len(listed) >= 3
        assert first.json() + rest.json() == listed
        for zone, found in (("TenneT", listed), ("Amprion", [])):
            assert (await yard.operator.get("/delivery/runs", params={"delivery-zone": zone})).json() == found
        since = {"start": listed[1]["time"]}
        assert (await yard.operator.get("/delivery/runs", params=since)).json() == listed[:2]
        until = {"end": listed[1]["time"]}
        assert (await yard.operator.get("/delivery/runs", params=until)).json() == listed[2:]
        empty = await yard.operator.get("/delivery/runs", params={**since, "end": listed[1]["time"]})
        assert (empty.status_code, [one["pointer"] for one in empty.json()["errors"]]) == (400, ["query:end"])

    async def test_are_the_operators_alone(self, yard: Yard) -> None:
        await yard.virtual(await yard.battery())
        await yard.advance(await yard.now())
        [run, *_] = (await yard.operator.get("/delivery/runs")).json()
        for path in ("/delivery/runs", f"/delivery/runs/{run['id']}", f"/delivery/runs/{uuid4()}"):
            assert (await yard.owner.admin.get(path)).status_code == 403, path
        assert (await yard.operator.get(f"/delivery/runs/{uuid4()}")).status_code == 404


async def _told(yard: Yard) -> int:
    told: int = await yard.edge.pool.fetchval(
        """select (select count(*) from event where type = 'dispatch.updated' and organisation_id = $1)
             + (select count(*) from event_outbox where type = 'dispatch.updated')""",
        yard.owner.id,
    )
    return told


def _block_start(yard: Yard) -> datetime:
    return block_window(market_day_of(yard.start), 4, 8).start


async def lose(
    yard: Yard, battery: dict[str, Any], power: float, energy: float = 0, start: datetime | None = None
) -> None:
    """For an hour."""
    start = start or yard.start
    answer = await yard.owner.engineer.post(
        f"/physical-assets/{battery['id']}/unavailability",
        json={
            "description": "A transformer trips",
            "type": "OUTAGE",
            "start": wire(start),
            "end": wire(start + timedelta(hours=1)),
            "volume": {"energyCapacity": energy, "powerCapacity": {"charge": power, "discharge": power}},
        },
    )
    assert answer.status_code == 201, answer.text


class TestARunAfterAPause:
    async def test_makes_final_what_closed_meanwhile_as_it_was_planned(self, yard: Yard) -> None:
        one, two = await yard.battery(), await yard.battery()
        await yard.schedule(await yard.virtual(one), [600.0] * 4)
        await yard.schedule(await yard.virtual(two), [-400.0] * 4)
        await yard.gate_of(0)
        facts = (await yard.operator.get("/settlements/net-off")).json()
        assert {fact["time"] for fact in facts} == {wire(yard.start)}, "what has not closed yet may change"
        # No run happens for an hour.
        await yard.edge.pool.execute("update job set due = due + interval '1 hour' where kind = 'delivery.close-gates'")
        await yard.advance(yard.start + 6 * QUARTER)
        facts = (await yard.operator.get("/settlements/net-off")).json()
        assert len({fact["time"] for fact in facts}) == 4
        assert len(facts) == 8


class TestAGateAtWhichNothingChanged:
    async def test_costs_one_look_and_no_run(self, yard: Yard) -> None:
        battery = await yard.battery()
        await yard.schedule(await yard.virtual(battery), [400.0, -200.0])
        await lose(yard, battery, 1.0)  # for four quarter-hours, in each of which it is recorded what it did
        await yard.gate_of(4)  # after midnight, when another market day has come into view
        before = await _zone_of(yard)
        await yard.gate_of(11)
        after = await _zone_of(yard)
        assert after["revision"] == before["revision"], "no run has planned the zone"
        assert after["settled_until"] == before["settled_until"] + 7

    async def test_still_makes_its_period_final(self, yard: Yard) -> None:
        battery = await yard.battery()
        virtual = await yard.virtual(battery)
        await yard.schedule(virtual, [400.0] * 6)
        await yard.gate_of(4)  # gates 2, 3 and 4 bring nothing new
        await lose(yard, battery, 1000.0)  # of the first four quarter-hours, all of which are closed
        await yard.gate_of(5)
        assert await yard.powers(battery, 6) == [400.0] * 6

    async def test_does_not_hide_a_change_at_the_next(self, yard: Yard) -> None:
        battery = await yard.battery()
        virtual = await yard.virtual(battery)
        await yard.schedule(virtual, [400.0] * 6)
        await yard.gate_of(3)
        await yard.schedule(virtual, [100.0], offset=5)
        await yard.gate_of(5)
        assert await yard.powers(battery, 6) == [400.0] * 5 + [100.0]

    async def test_is_looked_at_with_others_when_the_clock_leaps(self, yard: Yard) -> None:
        battery = await yard.battery()
        virtual = await yard.virtual(battery)
        await yard.schedule(virtual, [400.0, -200.0])
        await yard.gate_of(1)
        before = RUNS.labels(DUE_GATES_JOB, "done")._value.get()
        await yard.gate_of(60)
        assert RUNS.labels(DUE_GATES_JOB, "done")._value.get() - before < 12, (
            "of 59 gates; other things happen in between"
        )
        assert (await _zone_of(yard))["settled_until"] == period_number(yard.start) + 61
        await yard.schedule(virtual, [100.0], offset=61)
        await yard.gate_of(61)
        assert (await yard.powers(battery, 62))[-2:] == [0.0, 100.0]

    async def test_is_looked_at_no_more_when_no_virtual_asset_is_left(self, yard: Yard) -> None:
        battery = await yard.battery()
        virtual = await yard.virtual(battery, end=wire(yard.start + 2 * QUARTER))
        await yard.schedule(virtual, [400.0, 0.0])
        await yard.gate_of(1)
        assert await yard.edge.pool.fetchval("select due from job where kind = 'delivery.close-gates'") is not None
        await yard.advance(yard.start + 4 * QUARTER)
        left = await yard.edge.pool.fetch("select kind from job where kind like 'delivery.%'")
        # The noon that was due already finds no plan and asks for no other.
        assert [row["kind"] for row in left] == ["delivery.place-drift"]
        await yard.advance(yard.start + timedelta(hours=25))
        assert await yard.edge.pool.fetch("select kind from job where kind like 'delivery.%'") == []

    async def test_has_nothing_scheduled_any_more_once_its_last_virtual_asset_is_deleted(self, yard: Yard) -> None:
        battery = await yard.battery()
        virtual = await yard.virtual(battery)
        other = await yard.virtual(await yard.battery())
        await yard.schedule(virtual, [400.0] * 4)
        await yard.schedule(other, [-100.0] * 4)
        await yard.advance(yard.start - timedelta(hours=2))
        window = {"start": wire(yard.start), "end": wire(yard.start + 4 * QUARTER)}

        async def read_quarters() -> list[tuple[float, float, float]]:
            answer = await yard.operator.get("/delivery/zones", params=window)
            assert answer.status_code == 200, answer.text
            names = ("scheduledExport", "netted", "dispatched")
            return [tuple(point[name] for name in names) for one in answer.json() for point in one["quarters"]]

        assert await read_quarters() == [(400.0, 100.0, 300.0)] * 4
        for one in (virtual, other):
            answer = await yard.operator.delete(yard.url(one))
            assert answer.status_code == 204, answer.text
        await yard.advance(yard.start - timedelta(hours=1))
        assert await read_quarters() == [(0.0, 0.0, 0.0)] * 4
        assert await yard.powers(battery) == [0.0] * 4


async def _zone_of(yard: Yard) -> Any:
    return await yard.edge.pool.fetchrow("select * from delivery_zone where delivery_zone = 'TenneT'")


class TestABattery:
    async def test_moves_for_others_only_while_a_virtual_asset_is_alive_that_it_backs(self, yard: Yard) -> None:
        """It does what the ramp of another battery leaves; before and after it is its owner's alone."""
        slow = await yard.battery(rampRate=0.2)
        helper = await yard.battery()
        virtual = await yard.virtual(slow)
        life = {"start": wire(yard.start + 2 * QUARTER), "end": wire(yard.start + 4 * QUARTER)}
        await yard.virtual(helper, **life)
        await yard.schedule(virtual, [400.0, -400.0, 400.0, -400.0, 400.0, -400.0])
        await yard.gate_of(0)
        moved = await yard.powers(helper, 6)
        assert moved == pytest.approx([0.0, 0.0, 220.0, -400.0, 0.0, 0.0], abs=10)  # levelled a little
        assert (moved[:2], moved[4:]) == ([0.0, 0.0], [0.0, 0.0])
        assert await yard.powers(slow, 2) == [180.0, 0.0]

    async def test_follows_its_owner_again_once_it_backs_no_virtual_asset(self, yard: Yard) -> None:
        battery, other = await yard.battery(energyCapacity=8000), await yard.battery()
        ending = await yard.virtual(battery, end=wire(yard.start + 2 * QUARTER))
        going_on = await yard.virtual(other)
        await yard.schedule(ending, [400.0, 400.0])
        own = [{"time": wire(yard.start + place * QUARTER), "power": 300.0} for place in (4, 5)]
        put = await yard.owner.trader.put(f"/physical-assets/{battery['id']}/schedule", json={"schedule": own})
        assert put.status_code == 200, put.text
        await yard.gate_of(1)
        assert await yard.powers(battery, 6) == [400.0, 400.0, 0.0, 0.0, 300.0, 300.0]
        await yard.schedule(going_on, [100.0], offset=3)
        await yard.gate_of(3)
        points = (await yard.dispatch(battery))["dispatch"]
        assert [point["power"] for point in points[:6]] == [400.0, 400.0, 0.0, 0.0, 300.0, 300.0]
        assert points[4]["parts"] == [{"kind": "OWN", "power": 300.0}]
        assert points[6]["stateOfChargePercentage"] < points[4]["stateOfChargePercentage"]

    @pytest.mark.parametrize("gate", [1, 2])
    async def test_follows_a_schedule_given_when_its_virtual_asset_ends_though_it_had_nothing_to_do(
        self, yard: Yard, gate: int
    ) -> None:
        battery, other = await yard.battery(energyCapacity=8000), await yard.battery()
        await yard.virtual(battery, end=wire(yard.start + 2 * QUARTER))
        going_on = await yard.virtual(other)
        await yard.gate_of(gate)
        own = [{"time": wire(yard.start + place * QUARTER), "power": 300.0} for place in (6, 7)]
        put = await yard.owner.trader.put(f"/physical-assets/{battery['id']}/schedule", json={"schedule": own})
        assert put.status_code == 200, put.text
        await yard.schedule(going_on, [100.0], offset=5)
        await yard.gate_of(4)
        assert await yard.powers(battery, 8) == [0.0] * 6 + [300.0] * 2

    async def test_goes_on_with_what_it_stored_when_it_backs_a_virtual_asset_again(self, yard: Yard) -> None:
        battery, other = await yard.battery(energyCapacity=8000), await yard.battery()
        ending = await yard.virtual(battery, end=wire(yard.start + 2 * QUARTER))
        going_on = await yard.virtual(other)
        await yard.schedule(ending, [400.0, 400.0])
        await yard.gate_of(1)
        await yard.schedule(going_on, [100.0], offset=3)
        await yard.gate_of(3)  # the zone is planned without the battery
        await yard.virtual(battery, start=wire(yard.start + 8 * QUARTER))
        await yard.gate_of(5)
        charges = [point["stateOfChargePercentage"] for point in (await yard.dispatch(battery))["dispatch"]]
        assert charges[0] == pytest.approx(50.0)
        assert charges[2] < 48
        assert charges[2:8] == pytest.approx([charges[2]] * 6)


class TestAnAllocationThatWasUndone:
    async def test_leaves_nothing_for_its_batteries_to_do(self, yard: Yard) -> None:
        one, two = await yard.battery(), await yard.battery()
        first, second = await yard.virtual(one), await yard.virtual(two)
        await yard.schedule(first, [400.0])
        await yard.schedule(second, [300.0])
        await yard.gate_of(-8)
        assert [await yard.powers(one, 1), await yard.powers(two, 1)] == [[400.0], [300.0]]
        before = await yard.now()
        for place, (virtual, left) in enumerate(((first, [[0.0], [300.0]]), (second, [[0.0], [0.0]]))):
            assert (await yard.operator.delete(yard.url(virtual))).status_code == 204
            await yard.gate_of(place - 7)
            assert [await yard.powers(one, 1), await yard.powers(two, 1)] == left
        [was, *_] = (await yard.dispatch(one, **{"as-of": wire(before)}))["dispatch"]
        assert was["parts"] == [{"kind": "VIRTUAL", "power": 400.0}], "for an asset that is no more"
        third = await yard.virtual(one)
        await yard.schedule(third, [200.0])
        await yard.gate_of(-4)
        assert await yard.powers(one, 1) == [200.0]
