"""A battery that fails: what was not delivered is its owner's, once; who stood in is paid; the holder's store follows
what was announced."""

from __future__ import annotations

import asyncio
import csv
import io
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from tests.database_server import server_url, url_of
from tests.delivery.conftest import GATE, Yard, find_afternoon_before, yard_of
from tests.people import OrganisationUnderTest
from tests.virtual_assets.conftest import QUARTER, register, wire

from gridloom.commands import cli
from gridloom.delivery.planning.drift import NoonDrift
from gridloom.delivery.runs.store import put_noon
from gridloom.kernel.market_time import market_day_of, market_day_window

POWER_KW, CAPACITY_KWH = 1000, 2000
LOSSLESS = {"chargeEfficiency": 1.0, "dischargeEfficiency": 1.0}
REBAP = 100
HOUR = timedelta(hours=1)
TOLL_EUR_MW_H = 10


async def sent(answer: Any) -> Any:
    assert answer.status_code in (200, 201, 202, 204), answer.text
    return answer.json() if answer.content else None


@dataclass
class Zone:
    """Two batteries of two owners, each half of a virtual asset of 2 MW and 4 MWh; nothing loses energy."""

    yard: Yard
    owners: list[OrganisationUnderTest]
    batteries: list[Any]
    virtual: Any

    @property
    def start(self) -> datetime:
        return self.yard.start

    def at(self, place: int) -> datetime:
        return self.start + place * QUARTER

    async def advance(self, place: int) -> None:
        """Until the gate of a quarter-hour has closed."""
        await self.yard.advance(self.at(place) - GATE + timedelta(seconds=1))

    async def lose(self, battery: int, first: int, end: int, power: float = POWER_KW, energy: float = 0.0) -> str:
        volume = {"energyCapacity": energy, "powerCapacity": {"charge": power, "discharge": power}}
        body = {"description": "It trips", "type": "OUTAGE", "start": wire(self.at(first)), "end": wire(self.at(end))}
        path = f"/physical-assets/{self.batteries[battery]['id']}/unavailability"
        made = await sent(await self.owners[battery].engineer.post(path, json=body | {"volume": volume}))
        return f"{path}/{made['id']}"

    async def publish(self, count: int, price: float = REBAP) -> None:
        rows = [
            {"series": "REBAP_DE", "start": wire(self.at(n)), "end": wire(self.at(n + 1)), "price": price}
            for n in range(count)
        ]
        await sent(await self.yard.operator.post("/reference-prices", json=rows))

    async def toll(self) -> None:
        """10 EUR a MW and hour: 5 EUR in a quarter-hour of 2 MW."""
        year = market_day_of(self.start).year
        hours = (market_day_window(date(year, 12, 31)).end - market_day_window(date(year, 1, 1)).start) / HOUR
        row = {"contractID": "toll", "assetID": self.virtual["id"], "annualPrice": TOLL_EUR_MW_H * hours}
        span = {"start": wire(self.start), "end": wire(self.start + timedelta(days=2))}
        await sent(await self.yard.operator.post("/settlements/tolling-contracts", json=[row | span]))

    async def sell(self, mwh: float, count: int) -> None:
        rows = [
            {"tradeID": f"s{n}", "assetID": self.virtual["id"], "time": wire(self.at(n)), "side": "SELL"}
            | {"volume": mwh, "price": 80, "market": "DAY_AHEAD"}
            for n in range(count)
        ]
        await sent(await self.yard.operator.post("/settlements/wholesale-trades", json=rows))

    async def lines(self, who: int | None, count: int) -> dict[tuple[str, str], Decimal]:
        """Of an owner's battery, or of the holder's virtual asset: EUR by line and counterparty."""
        window = {"start": wire(self.start), "end": wire(self.at(count))}
        client = self.yard.trader.trader if who is None else self.owners[who].trader
        kind = "virtual-assets" if who is None else "physical-assets"
        asset = self.virtual if who is None else self.batteries[who]
        answer = await sent(await client.get(f"/revenue-reporting/{kind}/{asset['id']}/statement", params=window))
        sums: dict[tuple[str, str], Decimal] = defaultdict(Decimal)
        for line in answer["lines"]:
            sums[line["line"], line["counterparty"]] += Decimal(str(line["amount"]))
        return {name: amount for name, amount in sums.items() if amount}

    async def position(self, count: int) -> list[Any]:
        window = {"start": wire(self.start), "end": wire(self.at(count))}
        points: list[Any] = await sent(
            await self.yard.trader.trader.get(f"{self.yard.url(self.virtual)}/position", params=window)
        )
        return points

    async def store_kwh(self, count: int) -> list[float]:
        window = {"start": wire(self.start), "end": wire(self.at(count))}
        path = f"{self.yard.url(self.virtual)}/state-of-energy/projected"
        return [one["energy"] for one in await sent(await self.yard.trader.trader.get(path, params=window))]

    async def dispatched(self, battery: int, count: int) -> list[float]:
        window = {"start": wire(self.start), "end": wire(self.at(count))}
        path = f"/physical-assets/{self.batteries[battery]['id']}/dispatch"
        answer = await sent(await self.owners[battery].trader.get(path, params=window))
        return [one["power"] for one in answer["dispatch"]]

    async def stored_percent(self, battery: int, count: int) -> list[float]:
        window = {"start": wire(self.start), "end": wire(self.at(count))}
        path = f"/physical-assets/{self.batteries[battery]['id']}/dispatch"
        answer = await sent(await self.owners[battery].trader.get(path, params=window))
        return [one["stateOfChargePercentage"] for one in answer["dispatch"]]


@asynccontextmanager
async def zone_of(
    application: Any, *, is_later: bool = False, spare: int = 1, start: datetime | None = None
) -> AsyncIterator[Zone]:
    """`spare`: how many times what it has promised a battery has."""
    async with yard_of(application) as yard:
        if is_later:
            yard.begin_later()
        yard.start = start or yard.start
        owners = [yard.owner, await yard.people.new_organisation()]
        rated = {"ratedChargePower": POWER_KW, "ratedDischargePower": POWER_KW, "energyCapacity": CAPACITY_KWH}
        rated = {name: spare * amount for name, amount in rated.items()}
        batteries = [await register(yard.operator, owner.id, **LOSSLESS, **rated) for owner in owners]
        terms = {"ratedChargePower": 2 * POWER_KW, "ratedDischargePower": 2 * POWER_KW}
        backing = [{"physicalAssetID": battery["id"], "share": 0.5} for battery in batteries]
        virtual = await yard.virtual(
            *batteries, **terms, energyCapacity=2 * CAPACITY_KWH, dailyCycleLimit=None, backing=backing, **LOSSLESS
        )
        yield Zone(yard, owners, batteries, virtual)


@pytest.fixture
async def zone(fresh_app: Any) -> AsyncIterator[Zone]:
    async with zone_of(await fresh_app(find_afternoon_before())) as made:
        yield made


@pytest.fixture
async def later_zone(fresh_app: Any) -> AsyncIterator[Zone]:
    """Two days later: what is recorded now is announced in time."""
    async with zone_of(await fresh_app(find_afternoon_before()), is_later=True) as made:
        yield made


class TestABatteryThatFails:
    async def test_owes_alone_what_was_not_delivered(self, zone: Zone) -> None:
        """2 MW are sold. The first battery trips; the second gives its fair part, and the schedule is cut to that."""
        await zone.yard.schedule(zone.virtual, [2000.0, 2000.0])
        await zone.sell(0.5, 2)
        await zone.lose(0, 0, 1)
        await zone.advance(4)
        await zone.publish(4)
        assert (await zone.dispatched(0, 2), await zone.dispatched(1, 2)) == ([0.0, 1000.0], [1000.0, 1000.0])
        assert [one["open"] for one in await zone.position(2)] == [0.0, 0.0], "it counts as delivered to the holder"
        assert await zone.store_kwh(3) == [2000.0, 1500.0, 1000.0], "and its store follows the schedule"
        assert await zone.lines(0, 2) == {("IMBALANCE", "GRID_OPERATOR"): Decimal("-25.00")}
        assert await zone.lines(1, 2) == {}
        assert await zone.lines(None, 2) == {("TRADING", "MARKET"): Decimal("80.00")}

    async def test_pays_who_stood_in(self, zone: Zone) -> None:
        """1 MW is sold of 2: the second battery gives all of it, so it is paid what the first owes for its capacity."""
        await zone.toll()
        await zone.yard.schedule(zone.virtual, [1000.0, 0.0, 600.0])
        await zone.lose(0, 0, 2)
        await zone.lose(0, 2, 3, power=900)
        await zone.advance(4)
        await zone.publish(4)
        failed, helper, holder = (str(zone.owners[0].id), str(zone.owners[1].id), str(zone.yard.trader.id))
        assert await zone.dispatched(1, 3) == [1000.0, 0.0, 500.0]
        # Half of 5.00 in the first quarter-hour; nothing was asked for in the second: 2.50 for the holder; in the third
        # 45 % are missing, 2.25, and 200 of the 300 kW of the first battery's fair part are taken over, of 200 short.
        paid = {("SUBSTITUTION", helper): Decimal("-4.75"), ("AVAILABILITY", holder): Decimal("-2.50")}
        assert {name: amount for name, amount in (await zone.lines(0, 3)).items() if name[0] in _PAID} == paid
        assert (await zone.lines(1, 3))["SUBSTITUTION", failed] == Decimal("4.75")
        assert (await zone.lines(None, 3))["AVAILABILITY", failed] == Decimal("2.50")

    async def test_pays_who_held_its_reserve(self, fresh_app: Any) -> None:
        """The asset sells 800 kW of FCR: the second battery, of which half is free, holds all of it."""
        async with zone_of(await fresh_app(find_afternoon_before()), spare=2) as zone:
            await self._pay_reserve(zone)

    async def _pay_reserve(self, zone: Zone) -> None:
        await zone.toll()
        block = {"start": wire(zone.start), "end": wire(zone.start + timedelta(hours=4)), "market": "FCR"}
        power = {"ratedChargePower": 800, "ratedDischargePower": 800}
        await sent(await zone.yard.trader.trader.post(f"{zone.yard.url(zone.virtual)}/blocks", json=block | power))
        await zone.lose(0, 0, 16, power=2 * POWER_KW)
        await zone.advance(17)
        failed, helper = str(zone.owners[0].id), str(zone.owners[1].id)
        assert await zone.lines(0, 16) == {("SUBSTITUTION", helper): Decimal("-40.00")} | {
            name: amount for name, amount in (await zone.lines(0, 16)).items() if name[0] == "TOLLING"
        }
        assert (await zone.lines(1, 16))["SUBSTITUTION", failed] == Decimal("40.00")
        assert "AVAILABILITY" not in {name for name, _ in await zone.lines(None, 16)}, "the holder has lost nothing"

    @pytest.mark.parametrize(
        ("change", "second"),
        [("delete", "-12.50"), ("move", "-12.50"), ("record another", "0"), ("record one of decades", "0")],
    )
    async def test_is_settled_as_a_late_correction_says(self, zone: Zone, change: str, second: str) -> None:
        """What no failure explains is shared; one that gave its fair part has not failed, whatever is recorded."""
        await zone.yard.schedule(zone.virtual, [2000.0])
        path = await zone.lose(0, 0, 1)
        await zone.advance(4)
        await zone.publish(4)
        imbalance = ("IMBALANCE", "GRID_OPERATOR")
        assert (await zone.lines(0, 1), await zone.lines(1, 1)) == ({imbalance: Decimal("-25.00")}, {})
        client = zone.owners[0].engineer
        if change == "delete":
            await sent(await client.delete(path))
        elif change == "move":
            span = {"start": wire(zone.at(2)), "end": wire(zone.at(3))}
            await sent(await client.change(path, json=span))
        else:
            await zone.lose(1, 0 if change == "record another" else -_DECADES, 1)
        await zone.advance(5)
        assert (await zone.lines(0, 1))[imbalance] == Decimal("-25.00") - Decimal(second)
        assert (await zone.lines(1, 1)).get(imbalance, Decimal(0)) == Decimal(second)

    @pytest.mark.parametrize(("powers", "due"), [([2000.0], "-50.00"), ([2000.0, -2000.0], "0"), ([-400.0], "10.00")])
    @pytest.mark.parametrize("has_failed", [False, True])
    async def test_leaves_the_end_of_life_to_the_holders_own_schedule(
        self, zone: Zone, powers: list[float], due: str, has_failed: bool
    ) -> None:
        """100 EUR for each MWh by which its schedule ends off the target; a battery that trips changes nothing."""
        await zone.yard.schedule(zone.virtual, powers)
        if has_failed:
            await zone.lose(0, 0, 1)
        await zone.advance(193)
        await zone.publish(192)
        lines = await zone.lines(None, 192)
        assert sum(amount for (line, _), amount in lines.items() if line == "END_OF_LIFE") == Decimal(due)
        sides = [(await zone.lines(who, 192)).get(("END_OF_LIFE", str(zone.yard.trader.id)), 0) for who in (0, 1)]
        assert sides == [-Decimal(due) / 2] * 2

    async def test_leaves_drift_that_is_placed_once_and_no_gain_of_a_day_to_come(self, fresh_app: Any) -> None:
        """Both trip while 2 MW are asked for a quarter-hour: 500 kWh stay; the day before nothing was off."""
        async with zone_of(await fresh_app(find_afternoon_before()), spare=2) as zone:
            today = market_day_of(zone.start)
            await put_noon(zone.yard.edge.pool, "TenneT", today - timedelta(days=1), NoonDrift(0.0, 0.0))
            await zone.yard.schedule(zone.virtual, [2000.0])
            for battery in (0, 1):
                await zone.lose(battery, 0, 1, power=2 * POWER_KW)
            await zone.advance(49)
            tomorrow = [await zone.dispatched(battery, 192) for battery in (0, 1)]
            assert [sum(powers[92:]) / 4 for powers in tomorrow] == pytest.approx([250.0, 250.0], abs=0.1)

    async def test_is_reported_after_an_upgrade(
        self, zone: Zone, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Before it, each owner owed half of the 25 EUR of the first quarter-hour, and all that the failed one owed for
        its capacity was the holder's; in the second the other battery gave 500 kW instead."""
        await zone.toll()
        await zone.yard.schedule(zone.virtual, [2000.0, 1000.0])
        await zone.lose(0, 0, 2)
        await zone.advance(4)
        await zone.publish(4)
        database = await zone.yard.edge.pool.fetchval("select current_database()")
        monkeypatch.setenv("GRIDLOOM_DATABASE_URL", url_of(server_url(), database))
        await asyncio.to_thread(cli.upgrade_report)
        rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
        failed, helper, holder = (str(one.id) for one in (*zone.owners, zone.yard.trader))
        found = {(row["organisationID"], row["line"]): (row["before"], row["after"], row["change"]) for row in rows}
        assert found == {
            (failed, "IMBALANCE"): ("-12.50", "-25.00", "-12.50"),
            (failed, "AVAILABILITY"): ("-5.00", "-2.50", "2.50"),
            (failed, "SUBSTITUTION"): ("0.00", "-2.50", "-2.50"),
            (helper, "IMBALANCE"): ("-12.50", "0.00", "12.50"),
            (helper, "SUBSTITUTION"): ("0.00", "2.50", "2.50"),
            (holder, "AVAILABILITY"): ("5.00", "2.50", "-2.50"),
        }
        assert {row["month"] for row in rows} == {f"{market_day_of(zone.start):%Y-%m}"}


_PAID = ("AVAILABILITY", "SUBSTITUTION")
_DECADES = 30 * 365 * 96
"""Quarter-hours, of which only those of virtual assets are assessed."""


class TestEnergyThatIsMissing:
    async def test_takes_its_content_with_it_and_brings_it_back(self, zone: Zone) -> None:
        """Both batteries hold 1 MWh. Half of the first goes out of reach for two quarter-hours: 500 kWh stay there."""
        await zone.yard.schedule(zone.virtual, [2000.0, 2000.0, 2000.0, 1600.0])
        await zone.lose(0, 1, 3, power=0, energy=CAPACITY_KWH / 2)
        await zone.advance(6)
        first, second = await zone.dispatched(0, 4), await zone.dispatched(1, 4)
        # After 250 kWh: 375 in reach; the second has 750.
        assert first[:3] == [1000.0, 1000.0, 500.0]
        assert second[:3] == [1000.0, 1000.0, 1000.0]
        assert await zone.stored_percent(0, 4) == [50.0, 37.5, 25.0, 18.75]
        assert first[3] > 500, "what was out of reach is back"

    async def test_is_the_holders_where_it_was_announced(self, later_zone: Zone) -> None:
        """A quarter of the virtual energy goes out of reach, with a quarter of what is stored: 1,500 of 2,000 kWh."""
        zone = later_zone
        await zone.lose(0, 1, 5, power=0, energy=CAPACITY_KWH / 2)
        blocks = f"{zone.yard.url(zone.virtual)}/blocks/{zone.virtual['blockIDs'][0]}"

        async def put(powers: list[float]) -> Any:
            points = [{"time": wire(zone.at(n)), "power": power} for n, power in enumerate(powers)]
            return await zone.yard.trader.trader.put(blocks, json={"schedule": points})

        refused = await put([0.0, 2000.0, 2000.0, 2000.0, 40.0])
        assert refused.status_code == 422
        assert "10" in refused.json()["detail"], "kWh that are out of reach"
        await sent(await put([0.0, 2000.0, 2000.0, 2000.0, 0.0, 2000.0]))
        assert (await zone.store_kwh(7))[-2:] == [500.0, 0.0], "they are back after it"

    @pytest.mark.parametrize("length", [2, 700])
    @pytest.mark.parametrize("is_planned", [True, False])
    async def test_is_said_in_the_preview(self, fresh_app: Any, is_planned: bool, length: int) -> None:
        """Also before the first plan, and beyond the last; the virtual asset ends half full, as it began."""
        async with zone_of(await fresh_app(find_afternoon_before()), is_later=not is_planned) as zone:
            await zone.yard.schedule(zone.virtual, [0.0] * 4)
            if is_planned:
                await zone.advance(0)
            volume = {"energyCapacity": 1500, "powerCapacity": {"charge": 0, "discharge": 0}}
            span = {"start": wire(zone.at(1)), "end": wire(zone.at(1 + length))}
            body = {"description": "Racks", "type": "OUTAGE", **span, "volume": volume}
            path = f"/physical-assets/{zone.batteries[0]['id']}/unavailability-previews"
            seen = await sent(await zone.owners[0].engineer.post(path, json=body))
            assert seen["unreachableEnergy"] == 750.0
