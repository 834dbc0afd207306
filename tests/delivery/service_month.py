"""A month of a zone lived through the service, over HTTP, and recomputed here from its answers in plain Python.

Two owners with three batteries and two traders with three virtual ones; schedules and trades of every day, day-ahead
and imbalance prices, an outage that was announced, one that was not, and reserve that no battery could hold.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from itertools import pairwise
from random import Random
from typing import Any

from tests.delivery.conftest import Yard
from tests.delivery.month import CAPACITY_KWH, POWER_KW, VIRTUAL_EFFICIENCY, H, Zone, stored_kwh
from tests.people import OrganisationUnderTest
from tests.virtual_assets.conftest import QUARTER, register, wire

from gridloom.kernel.market_time import MARKET_ZONE, block_window, market_day_of, market_day_window, period_count

OUTSIDE = ("MARKET", "GRID_OPERATOR", "OUTSIDE")
FCR_EUR_MW_H = 15
TOLL_EUR_MW_YEAR = 60_000
ANNOUNCED_DAY, TRIP_DAY, RESERVE_DAY = 3, 4, 6


@dataclass(frozen=True)
class Outage:
    battery: int
    start: datetime
    end: datetime
    lost: float
    recorded_at: datetime

    def covers(self, moment: datetime) -> bool:
        return self.start <= moment < self.end

    def is_before(self, moment: datetime) -> bool:
        """On the same market day."""
        return self.start <= moment and market_day_of(self.start) == market_day_of(moment)


@dataclass
class Findings:
    """What a month came to; drifts as fractions of promised energy."""

    unfairness: list[float] = field(default_factory=list)
    battery_drift: float = 0.0
    zone_drift: float = 0.0
    unexplained: float = 0.0
    unbalanced_kw: float = 0.0
    untraded_drift: float = 0.0
    cuts_outside_outages: list[Any] = field(default_factory=list)
    lines: dict[str, float] = field(default_factory=dict)
    """What each line comes to over all organisations."""
    open_between_parties: list[Any] = field(default_factory=list)
    market_off_eur: float = 0.0
    grid_off_eur: float = 0.0
    reserve_off_eur: float = 0.0


async def send(answer: Any) -> Any:
    assert answer.status_code in (200, 201), answer.text
    return answer.json()


def price_of(moment: datetime, phase: float) -> float:
    """A day-ahead price: low at night and at noon, high in the morning and in the evening."""
    hour = moment.astimezone(MARKET_ZONE).hour
    shape = (-30, -30, -30, -25, -15, 5, 25, 40, 30, 10, -5, -20, -30, -25, -10, 5, 25, 45, 60, 55, 35, 15, 0, -15)
    return round(85 + phase * shape[hour], 2)


class ServiceMonth:
    def __init__(self, yard: Yard, seed: int, first_day: date, days: int = 30) -> None:
        self.yard, self.draw = yard, Random(seed)
        self.zone = Zone(self.draw)
        self.zone.shares = [_round_shares(row) for row in self.zone.shares]
        self.zone.virtual_kw = [float(int(kw)) for kw in self.zone.virtual_kw]
        self.days = [first_day + timedelta(days=number) for number in range(days)]
        self.start, self.end = market_day_window(self.days[0]).start, market_day_window(self.days[-1]).end
        yard.start = self.start
        self.outages: list[Outage] = []
        self.fcr_kw = 0.0

    # --- the world ----------------------------------------------------------------------------------------------------

    async def make(self) -> None:
        yard, zone = self.yard, self.zone
        self.owners = (yard.owner, yard.owner, await yard.people.new_organisation())
        self.holders = (yard.trader, yard.trader, await yard.people.new_organisation())
        self.batteries = [
            await register(
                yard.operator,
                owner.id,
                ratedChargePower=POWER_KW[b],
                ratedDischargePower=POWER_KW[b],
                energyCapacity=CAPACITY_KWH[b],
                chargeEfficiency=zone.charge_efficiency[b],
                dischargeEfficiency=zone.discharge_efficiency[b],
            )
            for b, owner in enumerate(self.owners)
        ]
        self.assets = [await self._allocate(number, holder) for number, holder in enumerate(self.holders)]
        await self._sell_reserve()

    async def _allocate(self, number: int, holder: OrganisationUnderTest) -> Any:
        power_kw, zone = self.zone.virtual_kw[number], self.zone
        body = {
            "name": f"Loom {number}",
            "start": wire(self.start),
            "end": wire(self.end),
            "deliveryZone": "TenneT",
            "ratedChargePower": power_kw,
            "ratedDischargePower": power_kw,
            "energyCapacity": 2 * power_kw,
            "chargeEfficiency": VIRTUAL_EFFICIENCY,
            "dischargeEfficiency": VIRTUAL_EFFICIENCY,
            "dailyCycleLimit": 20,
            "backing": [
                {"physicalAssetID": battery["id"], "share": share}
                for battery, share in zip(self.batteries, zone.shares[number], strict=True)
            ],
        }
        made = await send(await self.yard.operator.post(f"/organisations/{holder.id}/virtual-assets", json=body))
        toll = {
            "contractID": f"toll-{number}",
            "assetID": made["id"],
            "start": wire(self.start),
            "end": wire(self.end),
            "annualPrice": TOLL_EUR_MW_YEAR,
        }
        await send(await self.yard.operator.post("/settlements/tolling-contracts", json=[toll]))
        return made

    async def _sell_reserve(self) -> None:
        """The first virtual asset holds FCR in one block of one day, in which it does nothing else."""
        day = self.days[RESERVE_DAY]
        self.block = block_window(day, 8, 12)
        self.fcr_kw = float(int(0.8 * self.zone.virtual_kw[0]))
        power = {"ratedChargePower": self.fcr_kw, "ratedDischargePower": self.fcr_kw}
        span = {"start": wire(self.block.start), "end": wire(self.block.end), "market": "FCR"}
        await send(await self.holders[0].trader.post(f"{self._url(0)}/blocks", json={**span, **power}))
        award = {"assetID": self.assets[0]["id"], "deliveryDay": day.isoformat(), "product": "NEGPOS_08_12"}
        price = {"capacity": self.fcr_kw / 1000, "settlementPrice": FCR_EUR_MW_H}
        await send(await self.yard.operator.post("/settlements/fcr", json=[{**award, **price}]))
        window = {"start": wire(self.start), "end": wire(self.end)}
        blocks = await send(await self.holders[0].trader.get(f"{self._url(0)}/blocks", params=window))
        self.later_block = next(one["id"] for one in blocks if one["end"] == wire(self.end))

    def _url(self, asset: int) -> str:
        return f"/organisations/{self.holders[asset].id}/virtual-assets/{self.assets[asset]['id']}"

    # --- living -------------------------------------------------------------------------------------------------------

    async def live(self) -> None:
        """Each day's schedules, trades and prices are known at 11:30 of the day before."""
        for number, day in enumerate(self.days):
            eve = datetime.combine(day - timedelta(days=1), time(11, 30), MARKET_ZONE).astimezone(UTC)
            await self.yard.advance(max(eve, await self.yard.now()))
            await self._plan_day(number)
            if number == ANNOUNCED_DAY:  # before 12:00 of the day before
                await self._fail(2, day, time(10, 0), time(15, 0), 0.4)
            if number == TRIP_DAY:
                await self._trip(1, day, time(9, 50), time(13, 0), 1.0)
            if number == RESERVE_DAY:
                await self._trip(0, day, time(8, 35), time(10, 0), 1.0)
                await self._fail(1, day, time(8, 30), time(10, 0), 1.0)
        await self.yard.advance(self.end + timedelta(hours=1))
        await self._publish("REBAP_DE", self.start, self.end, 1.6)

    async def _trip(self, battery: int, day: date, begins: time, ends: time, lost: float) -> None:
        """A battery fails a moment before the gate of its first quarter-hour closes."""
        await self.yard.advance(datetime.combine(day, begins, MARKET_ZONE).astimezone(UTC) - timedelta(minutes=20))
        await self._fail(battery, day, begins.replace(minute=begins.minute // 15 * 15), ends, lost)

    async def _fail(self, battery: int, day: date, begins: time, ends: time, lost: float) -> None:
        start, end = (datetime.combine(day, at, MARKET_ZONE).astimezone(UTC) for at in (begins, ends))
        self.outages.append(Outage(battery, start, end, lost, await self.yard.now()))
        volume_kw = lost * POWER_KW[battery]
        body = {
            "description": "It fails",
            "type": "OUTAGE",
            "start": wire(start),
            "end": wire(end),
            "volume": {"energyCapacity": 0, "powerCapacity": {"charge": volume_kw, "discharge": volume_kw}},
        }
        url = f"/physical-assets/{self.batteries[battery]['id']}/unavailability"
        await send(await self.owners[battery].engineer.post(url, json=body))

    async def _read_energy_kwh(self, asset: int, moment: datetime) -> float:
        """What a virtual asset will store at a moment, after the cuts that are known to come."""
        window = {"start": wire(moment), "end": wire(moment + QUARTER)}
        answer = await self.holders[asset].trader.get(f"{self._url(asset)}/state-of-energy/projected", params=window)
        return float((await send(answer))[0]["energy"])

    async def _plan_day(self, number: int) -> None:
        day = self.days[number]
        start, periods = market_day_window(day).start, period_count(day)
        phase = self.draw.uniform(0.5, 1.2)
        prices = [price_of(start + t * QUARTER, phase) for t in range(periods)]
        trades = []
        for asset in range(3):
            if asset == 0 and number == RESERVE_DAY:
                continue
            energy_kwh = await self._read_energy_kwh(asset, start)
            powers, _ = self.zone.schedule(asset, energy_kwh, periods)
            powers = _fit_store(powers, energy_kwh, 2 * self.zone.virtual_kw[asset])
            points = [{"time": wire(start + t * QUARTER), "power": power} for t, power in enumerate(powers)]
            is_later = asset == 0 and number > RESERVE_DAY
            block = self.later_block if is_later else self.assets[asset]["blockIDs"][0]
            answer = await self.holders[asset].trader.put(
                f"{self._url(asset)}/blocks/{block}", json={"schedule": points}
            )
            await send(answer)
            trades += [
                {
                    "tradeID": day.isoformat(),
                    "assetID": self.assets[asset]["id"],
                    "time": wire(start + t * QUARTER),
                    "side": "SELL" if power > 0 else "BUY",
                    "volume": round(abs(power) / 4000, 8),
                    "price": prices[t],
                    "market": "DAY_AHEAD",
                }
                for t, power in enumerate(powers)
                if power
            ]
        await send(await self.yard.operator.post("/settlements/wholesale-trades", json=trades))
        await self._publish("DAY_AHEAD_DE_LU", start, market_day_window(day).end, phase)

    async def _publish(self, series: str, start: datetime, end: datetime, phase: float) -> None:
        rows = [
            {
                "series": series,
                "start": wire(start + t * QUARTER),
                "end": wire(start + (t + 1) * QUARTER),
                "price": price_of(start + t * QUARTER, phase),
            }
            for t in range((end - start) // QUARTER)
        ]
        await send(await self.yard.operator.post("/reference-prices", json=rows))

    # --- what it came to ----------------------------------------------------------------------------------------------

    async def check(self) -> Findings:
        self.found = Findings()
        self.times = [self.start + t * QUARTER for t in range((self.end - self.start) // QUARTER)]
        await self._read_powers()
        self._check_energy()
        self._check_drift()
        self._check_fairness()
        await self._check_cuts()
        await self._check_lines()
        return self.found

    async def _read_powers(self) -> None:
        """Schedules, which follow what was announced, powers after all cuts, and the final dispatch."""
        window = {"start": wire(self.start), "end": wire(self.end)}
        self.virtual_kw, self.adjusted_kw = [], []
        for asset in range(3):
            blocks = await send(await self.holders[asset].trader.get(f"{self._url(asset)}/blocks", params=window))
            total: dict[str, float] = defaultdict(float)
            for block in blocks:
                for point in block["schedule"]:
                    total[point["time"]] += point["power"]
            self.virtual_kw.append([total[wire(moment)] for moment in self.times])
            answer = await self.holders[asset].trader.get(
                f"{self._url(asset)}/adjustments", params={**window, "limit": 1000}
            )
            total |= {cut["timestamp"]: cut["adjustedSchedule"] for cut in await send(answer)}
            self.adjusted_kw.append([total[wire(moment)] for moment in self.times])
        self.dispatch = []
        for owner, battery in zip(self.owners, self.batteries, strict=True):
            answer = await owner.trader.get(f"/physical-assets/{battery['id']}/dispatch", params=window)
            points = (await send(answer))["dispatch"]
            assert [point["time"] for point in points] == [wire(moment) for moment in self.times]
            self.dispatch.append(points)
        self.part_kw = {
            kind: [
                [sum(part["power"] for part in point["parts"] if part["kind"] == kind) for point in points]
                for points in self.dispatch
            ]
            for kind in ("VIRTUAL", "DRIFT", "FCR")
        }

    def _check_energy(self) -> None:
        """Every kWh of every store is explained by the battery's power, and every kW by a schedule or the drift."""
        self.energy_kwh, moved_kwh, lost_kwh = [], 0.0, 0.0
        for b, points in enumerate(self.dispatch):
            shown = [point["stateOfChargePercentage"] / 100 * CAPACITY_KWH[b] for point in points]
            stores = [shown[0]]
            for point in points:
                change = stored_kwh(point["power"], self.zone.charge_efficiency[b], self.zone.discharge_efficiency[b])
                stores.append(stores[-1] + change)
            moved_kwh += H * sum(abs(point["power"]) for point in points)
            lost_kwh = max(lost_kwh, *(abs(one - two) for one, two in zip(stores[:-1], shown, strict=True)))
            self.energy_kwh.append(stores)
        self.found.unexplained = lost_kwh / moved_kwh
        for t in range(len(self.times)):
            served = sum(self.part_kw["VIRTUAL"][b][t] for b in range(3))
            scheduled = sum(row[t] for row in self.adjusted_kw)
            self.found.unbalanced_kw = max(self.found.unbalanced_kw, abs(served - scheduled))

    def _check_drift(self) -> None:
        """At each midnight from the third on."""
        zone = self.zone
        shares = [list(self.energy_kwh[b][:1]) for b in range(3)]
        for t in range(len(self.times)):
            changes = [stored_kwh(row[t], VIRTUAL_EFFICIENCY, VIRTUAL_EFFICIENCY) for row in self.virtual_kw]
            for b in range(3):
                by_share = sum(zone.shares[asset][b] * change for asset, change in enumerate(changes))
                shares[b].append(shares[b][-1] + by_share)
        promised = zone.promised_kwh
        self.drifts: dict[date, list[float]] = {}
        for day in self.days[2:]:
            midnight = market_day_window(day).end
            t = (midnight - self.start) // QUARTER
            drift = [self.energy_kwh[b][t] - shares[b][t] for b in range(3)]
            self.drifts[day] = [drift[b] / promised[b] for b in range(3)]
            # Placed at noon of the day before: what was not delivered since is in the batteries, and no more than that.
            noon = datetime.combine(day - timedelta(days=1), time(12), MARKET_ZONE)
            left = self._sum_undelivered_kwh((noon - self.start) // QUARTER, t) / sum(promised)
            self.found.zone_drift = max(self.found.zone_drift, abs(sum(drift) / sum(promised) - left))
            # Until it is levelled it is in the failed battery alone; then each has its part.
            failed = {one.battery for one in self.outages if midnight - timedelta(hours=24) < one.end <= midnight}
            for b in set(range(3)) - failed:
                beyond = max(drift[b] / promised[b] - max(left, 0.0), min(left, 0.0) - drift[b] / promised[b])
                self.found.battery_drift = max(self.found.battery_drift, beyond)

    def _sum_undelivered_kwh(self, first: int, end: int) -> float:
        """Energy that virtual stores gave, or took, and batteries did not."""
        total_kwh = 0.0
        for scheduled_kw, adjusted_kw in zip(self.virtual_kw, self.adjusted_kw, strict=True):
            for t in range(max(first, 0), end):
                done = (
                    stored_kwh(kw, VIRTUAL_EFFICIENCY, VIRTUAL_EFFICIENCY) for kw in (adjusted_kw[t], scheduled_kw[t])
                )
                total_kwh += next(done) - next(done)
        return total_kwh

    def _check_fairness(self) -> None:
        """Discharged for virtual assets against Σ share × what they discharged after netting, where nothing failed."""
        discharged, fair = [0.0] * 3, [0.0] * 3
        failed = {one.start.astimezone(MARKET_ZONE).date() for one in self.outages}
        for t, moment in enumerate(self.times):
            powers = [row[t] for row in self.virtual_kw]
            exports, imports = sum(max(p, 0.0) for p in powers), sum(max(-p, 0.0) for p in powers)
            if exports <= imports or moment.astimezone(MARKET_ZONE).date() in failed:
                continue
            for b in range(3):
                discharged[b] += max(self.part_kw["VIRTUAL"][b][t], 0.0)
                fair[b] += sum(
                    self.zone.shares[asset][b] * max(power, 0.0) * (1 - imports / exports)
                    for asset, power in enumerate(powers)
                )
        self.found.unfairness = [abs(one / other - 1) for one, other in zip(discharged, fair, strict=True)]

    async def _check_cuts(self) -> None:
        window = {"start": wire(self.start), "end": wire(self.end)}
        for asset in range(3):
            answer = await self.holders[asset].trader.get(f"{self._url(asset)}/adjustments", params=window)
            for cut in await send(answer):
                moment = datetime.fromisoformat(cut["timestamp"])
                # What was not discharged in an outage leaves no room for what was to be charged later in the day.
                is_full = cut["reason"] == "STATE_OF_ENERGY_BOUNDARIES"
                if not any(one.covers(moment) or (is_full and one.is_before(moment)) for one in self.outages):
                    self.found.cuts_outside_outages.append(cut)

    async def _check_lines(self) -> None:
        """Between organisations both sides agree; the market and the grid operator are recomputed from the facts."""
        window = {"start": wire(self.start), "end": wire(self.end), "resolution": "daily"}
        paid: dict[tuple[str, str, str], float] = defaultdict(float)
        organisations = {str(one.id): one for one in (*self.owners, *self.holders)}
        for identifier, organisation in organisations.items():
            path = f"/revenue-reporting/organisations/{identifier}/statement"
            for line in (await send(await organisation.admin.get(path, params=window)))["lines"]:
                paid[line["line"], identifier, line["counterparty"]] += float(line["amount"])
        sums: dict[str, float] = defaultdict(float)
        for (line, one, other), amount in paid.items():
            sums[line] += abs(amount)
            if other not in OUTSIDE and abs(amount + paid.get((line, other, one), 0.0)) > 0.004:
                self.found.open_between_parties.append((line, one, other, amount))
        self.found.lines = {line: round(amount, 2) for line, amount in sums.items()}
        await self._check_market_and_grid(paid)

    async def _check_market_and_grid(self, paid: dict[tuple[str, str, str], float]) -> None:
        def received(party: str, *lines: str) -> float:
            return -sum(amount for (line, _, other), amount in paid.items() if other == party and line in lines)

        sold: dict[str, float] = defaultdict(float)
        drift: dict[str, float] = defaultdict(float)
        earned_eur = 0.0
        for trade in await self._list_trades():
            volume = float(trade["volume"]) * (1 if trade["side"] == "SELL" else -1)
            earned_eur += volume * float(trade["price"])
            sold[trade["time"]] += volume
            if trade["tradeID"].startswith("drift-"):
                drift[trade["time"]] += volume
        self.found.market_off_eur = abs(earned_eur + received("MARKET", "TRADING", "DRIFT"))
        open_eur = untraded_kwh = moved_kwh = missing_eur = 0.0
        for t, moment in enumerate(self.times):
            fed_mwh = sum(points[t]["power"] for points in self.dispatch) / 4000
            open_eur += price_of(moment, 1.6) * (sold[wire(moment)] - fed_mwh)
            drift_kwh = H * sum(self.part_kw["DRIFT"][b][t] for b in range(3))
            untraded_kwh += abs(drift_kwh - 1000 * drift[wire(moment)])
            moved_kwh += 1000 * sum(abs(points[t]["power"]) for points in self.dispatch) / 4000
            if self.block.start <= moment < self.block.end:
                held_kw = sum(self.part_kw["FCR"][b][t] for b in range(3))
                missing_eur += (self.fcr_kw - held_kw) / 4000 * FCR_EUR_MW_H
        self.found.grid_off_eur = abs(open_eur - received("GRID_OPERATOR", "IMBALANCE"))
        self.found.reserve_off_eur = abs(missing_eur - received("GRID_OPERATOR", "RESERVE_SHORTFALL"))
        self.found.untraded_drift = untraded_kwh / moved_kwh

    async def _list_trades(self) -> list[Any]:
        found: list[Any] = []
        for low, high in pairwise([*range(0, len(self.times), 96), len(self.times)]):
            window = {"start": wire(self.start + low * QUARTER), "end": wire(self.start + high * QUARTER)}
            answer = await self.yard.operator.get("/settlements/wholesale-trades", params={**window, "limit": "1000"})
            found += await send(answer)
        return found


def _fit_store(powers: list[float], energy_kwh: float, capacity_kwh: float) -> list[float]:
    """Powers in whole watts that stay within the store."""
    fitting = []
    for power_kw in powers:
        most_kw = energy_kwh * VIRTUAL_EFFICIENCY / H
        least_kw = -(capacity_kwh - energy_kwh) / VIRTUAL_EFFICIENCY / H
        fitting.append(int(max(min(power_kw, most_kw), least_kw) * 1000) / 1000)
        energy_kwh += stored_kwh(fitting[-1], VIRTUAL_EFFICIENCY, VIRTUAL_EFFICIENCY)
    return fitting


def _round_shares(row: list[float]) -> list[float]:
    head = [round(share, 6) for share in row[:-1]]
    return [*head, round(1 - sum(head), 6)]
