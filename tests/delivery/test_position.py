"""A virtual asset's position is what was traded against what it delivers; a battery's performance what was measured."""

from __future__ import annotations

import csv
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from tests.delivery.conftest import Yard
from tests.virtual_assets.conftest import QUARTER, wire

from gridloom.delivery.inputs.store import read_activated_changes_kwh, read_active_assets
from gridloom.delivery.positions.position import load_owner_position
from gridloom.kernel.market_time import market_day_of, period_number
from gridloom.virtual_assets.backing.announced import announced_before


async def trade(yard: Yard, virtual: dict[str, Any], place: int, side: str, mwh: float, price: float = 80.0) -> None:
    row = {
        "tradeID": f"t{place}{side}",
        "assetID": virtual["id"],
        "time": wire(yard.start + place * QUARTER),
        "side": side,
        "volume": mwh,
        "price": price,
        "market": "INTRADAY_CONTINUOUS",
    }
    answer = await yard.operator.post("/settlements/wholesale-trades", json=[row])
    assert answer.status_code == 200, answer.text


async def publish(yard: Yard, place: int, price: float) -> None:
    row = {
        "series": "REBAP_DE",
        "start": wire(yard.start + place * QUARTER),
        "end": wire(yard.start + (place + 1) * QUARTER),
        "price": price,
    }
    answer = await yard.operator.post("/reference-prices", json=[row])
    assert answer.status_code == 200, answer.text


async def position(yard: Yard, virtual: dict[str, Any], count: int) -> list[dict[str, float]]:
    window = {"start": wire(yard.start), "end": wire(yard.start + count * QUARTER)}
    answer = await yard.trader.trader.get(f"{yard.url(virtual)}/position", params=window)
    assert answer.status_code == 200, answer.text
    points: list[dict[str, float]] = answer.json()
    return points


class TestPosition:
    async def test_is_what_was_sold_less_bought_and_delivered(self, yard: Yard) -> None:
        virtual = await yard.virtual(await yard.battery())
        await yard.schedule(virtual, [400.0, -200.0, 0.0])
        await trade(yard, virtual, 0, "SELL", 0.12)
        await trade(yard, virtual, 1, "BUY", 0.05)
        await publish(yard, 0, 150.0)
        first, second, third = await position(yard, virtual, 3)
        assert (first["sold"], first["delivered"], first["open"]) == (0.12, 0.1, 0.02)
        assert (first["imbalancePrice"], first["imbalanceCost"]) == (150.0, 3.0)
        assert (second["bought"], second["delivered"], second["open"]) == (0.05, -0.05, 0.0)
        assert "imbalancePrice" not in second
        assert third["open"] == 0.0
        window = {"start": wire(yard.start), "end": wire(yard.start + 3 * QUARTER)}
        path = f"{yard.url(virtual)}/position"
        table = await yard.trader.trader.get(path, params=window, headers={"Accept": "text/csv"})
        rows = list(csv.DictReader(table.text.splitlines()))
        assert [datetime.fromisoformat(row["time"]) for row in rows] == [yard.start + n * QUARTER for n in range(3)]
        assert [(row["open"], row["imbalancePrice"]) for row in rows] == [("0.02", "150"), ("0", ""), ("0", "")]

    async def test_is_of_the_quarter_hours_of_its_life(self, yard: Yard) -> None:
        virtual = await yard.virtual(await yard.battery(), end=wire(yard.start + 8 * QUARTER))

        async def places(low: int, high: int) -> list[int]:
            window = {"start": wire(yard.start + low * QUARTER), "end": wire(yard.start + high * QUARTER)}
            answer = await yard.trader.trader.get(f"{yard.url(virtual)}/position", params=window)
            assert answer.status_code == 200, answer.text
            return [(datetime.fromisoformat(one["time"]) - yard.start) // QUARTER for one in answer.json()]

        assert await places(-2, 2) == [0, 1]
        assert await places(6, 11) == [6, 7]
        assert await places(-4, 0) == await places(8, 12) == []

    async def test_is_never_changed_by_netting(self, yard: Yard) -> None:
        seller, buyer = await yard.virtual(await yard.battery()), await yard.virtual(await yard.battery())
        await yard.schedule(seller, [600.0, 0.0, 0.0, 600.0])
        await trade(yard, seller, 0, "SELL", 0.15)
        before = (await position(yard, seller, 1))[0]
        await yard.schedule(buyer, [-400.0, 0.0, 0.0, -400.0])
        await yard.gate_of(0)
        after = (await position(yard, seller, 1))[0]
        assert (before["netted"], after["netted"]) == (0.0, 0.1)
        assert before["open"] == after["open"] == 0.0
        assert (await position(yard, seller, 4))[3]["netted"] == 0.1
        await yard.schedule(buyer, [0.0], offset=3)
        await yard.gate_of(1)
        assert [one["netted"] for one in await position(yard, seller, 4)] == [0.1, 0, 0, 0], "nothing is opposite now"

    async def test_counts_activations_as_delivered(self, yard: Yard) -> None:
        virtual = await yard.virtual(await yard.battery())
        row = {"assetID": virtual["id"], "time": wire(yard.start), "direction": "POS", "volume": 0.05, "price": 90}
        assert (await yard.operator.post("/settlements/afrr-energy", json=[row])).status_code == 200
        [first] = await position(yard, virtual, 1)
        assert (first["activated"], first["delivered"], first["open"]) == (0.05, 0.05, 0.0)

    async def test_leaves_the_energy_that_activations_before_a_plan_have_moved(self, yard: Yard) -> None:
        await yard.virtual(await yard.battery())
        virtual = await yard.virtual(await yard.battery())
        rows = [
            {"assetID": virtual["id"], "time": wire(yard.start + place * QUARTER), "price": 90}
            | {"direction": direction, "volume": volume}
            for place, direction, volume in ((0, "POS", 0.05), (1, "NEG", 0.08), (2, "POS", 0.1))
        ]
        assert (await yard.operator.post("/settlements/afrr-energy", json=rows)).status_code == 200
        pool, first = yard.edge.pool, period_number(yard.start)
        assets = await read_active_assets(pool, "TenneT", yard.start, yard.start + QUARTER)
        found_kwh = [(await read_activated_changes_kwh(pool, assets, first + place)).tolist() for place in range(4)]
        assert [row[0] for row in found_kwh] == [0] * 4, "of the other asset"
        moved_kwh = [0, -50 / 0.94, 80 * 0.9 - 50 / 0.94, 80 * 0.9 - 150 / 0.94]
        assert [row[1] for row in found_kwh] == pytest.approx(moved_kwh)

    async def test_opens_by_what_a_cut_takes_away(self, yard: Yard) -> None:
        yard.begin_later()
        battery = await yard.battery()
        virtual = await yard.virtual(battery)
        await yard.schedule(virtual, [800.0])
        await trade(yard, virtual, 0, "SELL", 0.2)
        await yard.gate_of(-192)  # two days before: the cut is announced, and the holder's to trade around
        answer = await yard.owner.engineer.post(
            f"/physical-assets/{battery['id']}/unavailability",
            json={
                "description": "A transformer trips",
                "type": "OUTAGE",
                "start": wire(yard.start),
                "end": wire(yard.start + timedelta(hours=1)),
                "volume": {"energyCapacity": 0, "powerCapacity": {"charge": 500, "discharge": 500}},
            },
        )
        assert answer.status_code == 201, answer.text
        await yard.gate_of(1)
        [first] = await position(yard, virtual, 1)
        assert (first["scheduled"], first["delivered"], first["open"]) == (0.2, 0.125, 0.075)


class TestPerformance:
    async def measure(self, yard: Yard, battery: dict[str, Any], powers: list[float]) -> None:
        times = [wire(yard.start + place * QUARTER) for place in range(len(powers))]
        body = {"active_power": {"time": times, "value": powers}, "state_of_charge": {"time": times[:1], "value": [49]}}
        answer = await yard.owner.admin.post(f"/monitoring/{battery['id']}/datapoints", json=body)
        assert answer.status_code == 200, answer.text

    async def test_sets_what_was_measured_against_what_was_asked(self, yard: Yard) -> None:
        battery = await yard.battery()
        virtual = await yard.virtual(battery)
        await yard.schedule(virtual, [400.0, 200.0])
        await yard.advance(yard.start + 3 * QUARTER)
        await self.measure(yard, battery, [400.0, 150.0])
        answer = await yard.owner.engineer.get(
            f"/physical-assets/{battery['id']}/performance",
            params={"start": wire(yard.start), "end": wire(yard.start + 2 * QUARTER)},
        )
        assert answer.status_code == 200, answer.text
        first, second = answer.json()["performance"]
        assert (first["powerDeviation"], first["availabilityDelivered"], first["stateOfChargeDrift"]) == (0, 1, -1)
        assert (second["dispatchedPower"], second["measuredPower"]) == (200, 150)
        assert (second["energyDeviation"], second["availabilityDelivered"]) == (-12.5, 0.75)
        alone = await yard.owner.engineer.get(
            f"/physical-assets/{battery['id']}/performance",
            params={"start": wire(yard.start + QUARTER), "end": wire(yard.start + 2 * QUARTER)},
        )
        assert alone.json()["performance"] == [second], "how long a sample holds depends on all of its day"
        assert second["measuredShare"] == 1
        summary = answer.json()["summary"]
        assert (summary["askedEnergy"], summary["deliveredEnergy"]) == (150, 137.5)
        assert summary["availabilityDelivered"] == pytest.approx(137.5 / 150, abs=1e-6)

    async def read(self, yard: Yard, battery: dict[str, Any], count: int, **params: str) -> Any:
        answer = await yard.owner.engineer.get(
            f"/physical-assets/{battery['id']}/performance",
            params={"start": wire(yard.start), "end": wire(yard.start + count * QUARTER), **params},
        )
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def test_is_of_the_same_quarter_hours_as_a_table(self, yard: Yard) -> None:
        """Only those that were planned: the window begins long before them."""
        battery = await yard.battery()
        await yard.schedule(await yard.virtual(battery), [400.0])
        await yard.advance(yard.start + QUARTER)
        path = f"/physical-assets/{battery['id']}/performance"
        window = {"start": wire(yard.start - timedelta(days=1)), "end": wire(yard.start + QUARTER)}
        seen = (await yard.owner.engineer.get(path, params=window)).json()["performance"]
        table = await yard.owner.engineer.get(path, params=window, headers={"Accept": "text/csv"})
        _, *lines = table.text.splitlines()
        times = [datetime.fromisoformat(line.split(",")[0].strip('"')) for line in lines]
        assert times == [datetime.fromisoformat(point["time"]) for point in seen]
        assert 0 < len(times) < 96

    async def test_takes_silence_for_what_was_dispatched(self, yard: Yard) -> None:
        battery = await yard.battery()
        await yard.schedule(await yard.virtual(battery), [400.0, 200.0, 100.0])
        await yard.advance(yard.start + 2 * QUARTER)
        await self.measure(yard, battery, [100.0])  # one sample holds for five minutes
        first, second, third = (seen := await self.read(yard, battery, 3))["performance"]
        assert (first["measuredShare"], first["measuredPower"]) == (pytest.approx(1 / 3, abs=1e-6), 100)
        assert (first["powerDeviation"], first["energyDeviation"]) == (-100, -25)
        assert (second["measuredShare"], second["powerDeviation"], second["availabilityDelivered"]) == (0, 0, 1)
        assert "measuredPower" not in second
        assert third["measuredShare"] == 0
        assert {"powerDeviation", "energyDeviation", "availabilityDelivered"}.isdisjoint(third), "it is yet to come"
        summary = seen["summary"]
        assert (summary["measuredPeriods"], summary["measuredShare"]) == (1, pytest.approx(1 / 6, abs=1e-6))
        assert (summary["askedEnergy"], summary["deliveredEnergy"]) == (150, 125)
        assert summary["assumedEnergy"] == pytest.approx(100 * 2 / 3 + 50, abs=1e-5)
        assert seen["days"][-1]["end"] == wire(yard.start + 2 * QUARTER)
        earlier = await self.read(yard, battery, 3, **{"as-of": wire(yard.start + QUARTER + timedelta(minutes=5))})
        assert (earlier["summary"]["askedEnergy"], earlier["summary"]["deliveredEnergy"]) == (100, 100)
        assert earlier["days"][-1]["end"] == wire(yard.start + QUARTER)
        assert ["powerDeviation" in point for point in earlier["performance"]] == [True, False, False]

    async def test_counts_a_quarter_hour_under_way_as_soon_as_it_is_measured(self, yard: Yard) -> None:
        battery = await yard.battery()
        await yard.schedule(await yard.virtual(battery), [400.0, 200.0])
        await yard.advance(yard.start + timedelta(minutes=6))
        assert (await self.read(yard, battery, 2))["summary"]["askedEnergy"] == 0
        await self.measure(yard, battery, [100.0])
        first, second = (seen := await self.read(yard, battery, 2))["performance"]
        assert (first["powerDeviation"], "powerDeviation" in second) == (-100, False)
        assert (seen["summary"]["askedEnergy"], seen["summary"]["deliveredEnergy"]) == (100, 75)

    async def test_tells_the_response_to_balancing_apart_from_deviation(self, yard: Yard) -> None:
        battery = await yard.battery()
        await yard.schedule(await yard.virtual(battery), [400.0])
        await yard.advance(yard.start + 2 * QUARTER)
        times = [wire(yard.start + timedelta(minutes=minute)) for minute in range(15)]
        body = {
            "active_power": {"time": times, "value": [450.0] * 15},
            "reserve_power": {"time": times, "value": [60.0] * 15},
        }
        assert (await yard.owner.admin.post(f"/monitoring/{battery['id']}/datapoints", json=body)).status_code == 200
        [first] = (await self.read(yard, battery, 1))["performance"]
        assert (first["measuredPower"], first["reserveResponse"], first["powerDeviation"]) == (450, 60, -10)

    async def test_tells_once_when_a_battery_does_not_do_what_it_must_for_two_quarter_hours(self, yard: Yard) -> None:
        battery = await yard.battery()
        virtual = await yard.virtual(battery)
        await yard.schedule(virtual, [400.0] * 6)
        for place in range(1, 6):
            await yard.advance(yard.start + place * QUARTER)
            await self.measure(yard, battery, [400.0, 0.0, 0.0, 0.0, 0.0][:place])
        await yard.advance(yard.start + 6 * QUARTER)
        rows = await yard.edge.pool.fetch(
            """select data from event where type = 'dispatch.deviation' and organisation_id = $1
               union all select data from event_outbox where type = 'dispatch.deviation'""",
            yard.owner.id,
        )
        [data] = [row["data"] for row in rows]
        assert (data["start"], data["end"]) == (wire(yard.start + QUARTER), wire(yard.start + 3 * QUARTER))
        assert (data["asked"], data["delivered"]) == (200.0, 0.0)


class TestABatteryThatBacksNobody:
    async def test_owes_what_its_owner_has_sold_and_it_did_not_do(self, yard: Yard) -> None:
        battery = await yard.battery()
        points = [{"time": wire(yard.start + place * QUARTER), "power": 400.0} for place in range(3)]
        put = await yard.owner.trader.put(f"/physical-assets/{battery['id']}/schedule", json={"schedule": points})
        assert put.status_code == 200, put.text
        for place in range(2):
            await trade(yard, battery, place, "SELL", 0.1)
            await publish(yard, place, 120.0)
        await yard.advance(yard.start + 4 * QUARTER)
        assert await self.imbalances(yard, battery) == [], "nothing was measured: it did what was scheduled"
        under_way = {"as-of": wire(yard.start + QUARTER + timedelta(minutes=5))}
        assert await self.imbalances(yard, battery, **under_way) == [], "it can be changed until it starts"
        times = [wire(yard.start + place * QUARTER) for place in (1, 2)]
        body = {"active_power": {"time": times, "value": [300.0, 0.0]}}
        assert (await yard.owner.admin.post(f"/monitoring/{battery['id']}/datapoints", json=body)).status_code == 200
        assert await self.imbalances(yard, battery) == [-3.0]

    async def test_is_no_affair_of_the_platforms_where_nothing_was_traded_on_it(self, yard: Yard) -> None:
        battery = await yard.battery()
        await publish(yard, 0, 120.0)
        await yard.advance(yard.start + 2 * QUARTER)
        body = {"active_power": {"time": [wire(yard.start)], "value": [300.0]}}
        assert (await yard.owner.admin.post(f"/monitoring/{battery['id']}/datapoints", json=body)).status_code == 200
        assert await self.imbalances(yard, battery) == []

    async def imbalances(self, yard: Yard, battery: dict[str, Any], **params: str) -> list[float]:
        answer = await yard.owner.trader.get(
            f"/revenue-reporting/physical-assets/{battery['id']}/statement",
            params={"start": wire(yard.start), "end": wire(yard.start + 4 * QUARTER), **params},
        )
        assert answer.status_code == 200, answer.text
        return [line["amount"] for line in answer.json()["lines"] if line["line"] == "IMBALANCE"]


class TestABatteryThatBacksAHalf:
    async def test_owes_its_share_of_what_was_activated(self, yard: Yard) -> None:
        one, two = await yard.battery(), await yard.battery()
        virtual = await yard.virtual(one, two)
        row = {"assetID": virtual["id"], "time": wire(yard.start), "direction": "POS", "volume": 0.05, "price": 90}
        assert (await yard.operator.post("/settlements/afrr-energy", json=[row])).status_code == 200
        await yard.advance(yard.start + 2 * QUARTER)
        times = [wire(yard.start + timedelta(minutes=minute)) for minute in range(15)]
        for battery, power in ((one, 100.0), (two, 80.0)):
            body = {"active_power": {"time": times, "value": [power] * 15}}
            answer = await yard.owner.admin.post(f"/monitoring/{battery['id']}/datapoints", json=body)
            assert answer.status_code == 200, answer.text
        first, open_mwh = period_number(yard.start), []
        for battery in (one, two):
            key = await yard.edge.pool.fetchval("select key from asset where id = $1", UUID(battery["id"]))
            open_mwh += (await load_owner_position(yard.edge.pool, key, first, first + 1)).open_mwh.tolist()
        assert open_mwh == pytest.approx([0.0, 0.005])


class TestASilentMeter:
    async def statement(self, yard: Yard, battery: dict[str, Any]) -> Any:
        window = {"start": wire(yard.start), "end": wire(yard.start + 4 * QUARTER)}
        answer = await yard.owner.trader.get(
            f"/revenue-reporting/physical-assets/{battery['id']}/statement", params=window
        )
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def test_costs_the_owner_nothing_and_what_is_assumed_is_named(self, yard: Yard) -> None:
        battery = await yard.battery()
        await yard.schedule(await yard.virtual(battery), [-400.0, -400.0])
        for place in range(2):
            await publish(yard, place, 100.0)
        await yard.advance(yard.start + 3 * QUARTER)
        before = [wire(yard.start - timedelta(minutes=minute)) for minute in (3, 2, 1)]
        body = {"active_power": {"time": before, "value": [0.0, 0.0, 0.0]}}
        assert (await yard.owner.admin.post(f"/monitoring/{battery['id']}/datapoints", json=body)).status_code == 200
        silent = await self.statement(yard, battery)
        assert (silent["lines"], silent["assumedEnergy"]) == ([], 0.2)
        # The first quarter-hour arrives late, as it was dispatched, and of the second a third, at half power.
        late = [wire(yard.start + timedelta(minutes=minute)) for minute in range(16)]
        body = {"active_power": {"time": late, "value": [-400.0] * 15 + [-200.0]}}
        assert (await yard.owner.admin.post(f"/monitoring/{battery['id']}/datapoints", json=body)).status_code == 200
        known = await self.statement(yard, battery)
        assert known["assumedEnergy"] == pytest.approx(0.1 * 2 / 3, abs=1e-6)
        [line] = known["lines"]
        assert (line["line"], line["amount"]) == ("IMBALANCE", 1.67), "a sixth of 100 kWh was not drawn: long"
        assert line["assumedEnergy"] == known["assumedEnergy"]


class TestATripWithinAQuarterHour:
    async def test_is_the_owners_imbalance(self, yard: Yard) -> None:
        battery = await yard.battery()
        virtual = await yard.virtual(battery)
        await yard.schedule(virtual, [400.0])
        await trade(yard, virtual, 0, "SELL", 0.1)
        await publish(yard, 0, 120.0)
        await yard.advance(yard.start + 2 * QUARTER)
        # Five minutes as asked, then nothing: 33⅓ of 100 kWh.
        times = [wire(yard.start), wire(yard.start + timedelta(minutes=5))]
        body = {"active_power": {"time": times, "value": [400.0, 0.0]}}
        assert (await yard.owner.admin.post(f"/monitoring/{battery['id']}/datapoints", json=body)).status_code == 200
        window = {"start": wire(yard.start), "end": wire(yard.start + 4 * QUARTER)}
        owner = await yard.owner.trader.get(
            f"/revenue-reporting/physical-assets/{battery['id']}/statement", params=window
        )
        assert owner.status_code == 200, owner.text
        assert [(line["line"], line["amount"]) for line in owner.json()["lines"]] == [("IMBALANCE", -8.0)]
        # The trader has delivered what it sold: the battery's trip is not its affair.
        holder = await yard.trader.trader.get(
            f"/revenue-reporting/virtual-assets/{virtual['id']}/statement", params=window
        )
        assert [(line["line"], line["amount"]) for line in holder.json()["lines"]] == [("TRADING", 8.0)]


class TestACut:
    """Who bears it depends on when the outage was recorded."""

    @staticmethod
    async def _lose(yard: Yard, battery: dict[str, Any]) -> None:
        body = {
            "description": "Half of it",
            "type": "OUTAGE",
            "start": wire(yard.start),
            "end": wire(yard.start + 8 * QUARTER),
            "volume": {"energyCapacity": 0, "powerCapacity": {"charge": 0, "discharge": 500}},
        }
        answer = await yard.owner.engineer.post(f"/physical-assets/{battery['id']}/unavailability", json=body)
        assert answer.status_code == 201, answer.text

    @staticmethod
    async def _position(yard: Yard, virtual: dict[str, Any]) -> Any:
        window = {"start": wire(yard.start), "end": wire(yard.start + 2 * QUARTER)}
        answer = await yard.trader.trader.get(f"{yard.url(virtual)}/position", params=window)
        assert answer.status_code == 200, answer.text
        return answer.json()

    @pytest.mark.parametrize("is_announced", [True, False])
    async def test_is_the_holders_where_it_was_announced_and_the_owners_where_not(
        self, yard: Yard, is_announced: bool
    ) -> None:
        yard.begin_later()
        battery = await yard.battery()
        virtual = await yard.virtual(battery)
        await yard.schedule(virtual, [800.0, 400.0])
        if not is_announced:
            await yard.advance(announced_before(market_day_of(yard.start)) + timedelta(minutes=1))
        await self._lose(yard, battery)
        await yard.advance(await yard.now() + timedelta(minutes=1))
        for _ in range(2):  # as an expected cut, and as one that was made
            first, second = await self._position(yard, virtual)
            assert first["delivered"] == pytest.approx(0.125 if is_announced else 0.2)
            assert (first["scheduled"], second["delivered"]) == (0.2, 0.1)
            await yard.gate_of(3)
        first, end = period_number(yard.start), period_number(yard.start) + 2
        key = await yard.edge.pool.fetchval("select key from asset where id = $1", UUID(battery["id"]))
        owner = await load_owner_position(yard.edge.pool, key, first, end)
        assert owner.open_mwh.tolist() == pytest.approx([0.0 if is_announced else 0.075, 0.0])
