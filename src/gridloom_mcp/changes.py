"""Tools that change something, for a server that allows it: each is a preview, then its confirmation."""

from __future__ import annotations

from datetime import date, datetime
from typing import Annotated, Any, Final

from pydantic import BaseModel, Field

from gridloom_client import ProblemError
from gridloom_client.literals import BacktestPolicy, Stage, UnavailabilityKind
from gridloom_mcp.answers import bound, pick
from gridloom_mcp.arguments import AuctionID, BatteryName, Day, Instant, LostEnergy, LostPower, Tool
from gridloom_mcp.batteries import BatteryTools
from gridloom_mcp.markets import MarketTools, show_plan
from gridloom_mcp.platform import QUARTER, ArgumentError, Platform
from gridloom_mcp.previews import Previews

MAX_QUARTERS: Final = 4 * 25 * 7


class Run(BaseModel):
    """Equal power over some quarter-hours."""

    start: Instant
    end: Instant
    power: float = Field(description="kW; positive discharges and sells, negative charges and buys")


class ChangeTools:
    """Every preview changes nothing and answers a token; `confirm` makes the change that was shown."""

    def __init__(self, platform: Platform, batteries: BatteryTools, markets: MarketTools, previews: Previews) -> None:
        self._platform = platform
        self._client = platform.client
        self._batteries, self._markets, self._previews = batteries, markets, previews
        self.reading: tuple[Tool, ...] = (
            self.preview_schedule,
            self.preview_bid,
            self.preview_order,
            self.preview_outage_report,
            self.preview_backtest,
        )
        self.changing: tuple[Tool, ...] = (self.confirm,)

    async def preview_schedule(
        self, battery: BatteryName, runs: Annotated[list[Run], Field(min_length=1, max_length=200)]
    ) -> dict[str, Any]:
        """Show what another schedule of a virtual battery would change, quarter-hours left out staying as they are.

        Confirmed, it is taken or refused as a whole, and only while no other caller has changed the schedule.
        """
        found = await self._platform.find_virtual(battery)
        points = _spread(runs)
        start, end = min(run.start for run in runs), max(run.end for run in runs)
        organisation_id = await self._platform.organisation_id()
        answer = await self._client.virtual_assets.asset_schedule.answer(
            organisation_id, found.id, start=start, end=end
        )
        before = {point.time: point.power for point in answer.value.schedule}
        changed = [(time, power) for time, power in points.items() if before.get(time) != power]
        schedule = [{"time": time, "power": power} for time, power in sorted(points.items())]

        async def change(_key: str) -> dict[str, Any]:
            done = await self._client.virtual_assets.set_asset_schedule(
                organisation_id, found.id, schedule=schedule, if_match=answer.etag, start=start, end=end
            )
            return {"units": "kW, kWh", "version": done.version, **pick(done, "imbalance", "expectedCuts")}

        rows = [{"time": time, "before": before.get(time), "after": power} for time, power in sorted(changed)]
        return {
            "units": "kW, kWh",
            **pick(found.seen, "id", "name"),
            "changedQuarters": len(changed),
            "addedExport": sum(power - (before.get(time) or 0.0) for time, power in changed) / 4,
            "changes": bound(rows, 100),
            "token": self._previews.offer(change),
        }

    async def preview_bid(
        self,
        auction: AuctionID,
        price: Annotated[str, Field(pattern=r"^\d{1,8}(\.\d{1,2})?$", description="EUR, exact")],
    ) -> dict[str, Any]:
        """Show an auction, what it is worth and the bid that would stand. The latest bid of the organisation counts."""
        seen = await self._try_worth(auction)

        async def change(key: str) -> dict[str, Any]:
            placed = await self._client.auctions.bid(auction, price=price, idempotency_key=key)
            return {"units": "EUR", **pick(placed, "id", "auctionID", "price", "timestamp", "sequence")}

        return {**seen, "bid": float(price), "token": self._previews.offer(change)}

    async def _try_worth(self, auction: str) -> dict[str, Any]:
        """With its worth, unless that cannot be computed: a bid does not depend on it."""
        try:
            return await self._markets.auction_worth(auction)
        except ProblemError:
            seen = await self._client.auctions.get(auction)
            return {"units": "EUR", **pick(seen, "id", "status", "start", "end", "currentBid")}

    async def preview_order(
        self, battery: BatteryName, stage: Stage, day: Day = None, apply: bool = False
    ) -> dict[str, Any]:
        """Show the plan for a stage of a virtual battery's day, to be ordered as it is. With `apply` its result goes
        into the schedule."""
        found = await self._platform.find_virtual(battery)
        wanted = await self._platform.day_or_today(day)
        organisation_id = await self._platform.organisation_id()
        plan = await self._client.markets.plan(organisation_id, found.id, delivery_day=wanted, stage=stage)
        traded: dict[str, Any] = {"reserves": plan.reserves} if plan.reserves else {"schedule": plan.schedule}
        if not plan.reserves and not any(trade.power for trade in plan.trades):
            raise ArgumentError("The plan trades nothing at this stage: there is nothing to order.")
        order = {
            "virtualAssetID": found.id,
            "stage": plan.stage,
            "deliveryDay": wanted,
            "ifMatch": plan.if_match,
            "minimumSurplus": plan.minimum_surplus,
            "atAnyPrice": plan.at_any_price,
            "apply": apply,
            **traded,
        }

        async def change(key: str) -> dict[str, Any]:
            placed = await self._client.markets.order(
                organisation_id,
                [{name: value for name, value in order.items() if value is not None}],
                idempotency_key=key,
            )
            return {"orders": [pick(one, "id", "status") for one in placed]}

        shown = {"units": "kW, positive is sold; EUR", **pick(found.seen, "id", "name"), **show_plan(plan)}
        return {**shown, "apply": apply, "token": self._previews.offer(change)}

    async def preview_outage_report(
        self,
        battery: BatteryName,
        start: Instant,
        end: Instant,
        charge_power: LostPower,
        discharge_power: LostPower,
        description: Annotated[str, Field(min_length=1, max_length=500)],
        energy_capacity: LostEnergy = 0,
        kind: UnavailabilityKind = "MAINTENANCE",
    ) -> dict[str, Any]:
        """Show what the report of an outage would do: who would lose what, and which schedules would be cut."""
        found = await self._platform.find_physical(battery)
        seen = await self._batteries.outage_preview(
            battery, start, end, charge_power, discharge_power, energy_capacity, kind
        )
        power = {"charge": charge_power, "discharge": discharge_power}
        body = {
            "description": description,
            "type": kind,
            "start": start,
            "end": end,
            "volume": {"energyCapacity": energy_capacity, "powerCapacity": power},
        }

        async def change(key: str) -> dict[str, Any]:
            target = f"/physical-assets/{found.id}/unavailability"
            done = await self._client.call("POST", target, body, headers={"Idempotency-Key": key})
            return {"location": done.headers.get("location", ""), "status": "REPORTED"}

        return {**seen, "token": self._previews.offer(change)}

    async def preview_backtest(
        self,
        start: date,
        end: date,
        rated_power: Annotated[float, Field(gt=0, description="kW, both directions")],
        energy_capacity: Annotated[float, Field(gt=0, description="kWh")],
        efficiency: Annotated[float, Field(gt=0, le=1, description="Of charging, and of discharging")] = 0.95,
        daily_cycle_limit: Annotated[float | None, Field(gt=0)] = None,
        policy: BacktestPolicy = "FORECAST",
    ) -> dict[str, Any]:
        """Show the back-test that would be started: past market days, `end` exclusive, played again with a battery. It
        takes one of the organisation's places for jobs."""
        battery = {
            "ratedPower": rated_power,
            "energyCapacity": energy_capacity,
            "chargeEfficiency": efficiency,
            "dischargeEfficiency": efficiency,
            **({"dailyCycleLimit": daily_cycle_limit} if daily_cycle_limit else {}),
        }

        async def change(key: str) -> dict[str, Any]:
            made = await self._client.backtests.create(
                start=start, end=end, battery=battery, policy=policy, idempotency_key=key
            )
            return {**pick(made, "id", "status"), "next": "backtests with this id answers its days"}

        shown = {"units": "kW, kWh", "start": start, "end": end, "battery": battery, "policy": policy}
        return {**shown, "token": self._previews.offer(change)}

    async def confirm(
        self,
        token: Annotated[str, Field(max_length=64, description="From the preview that the person has agreed to")],
        idempotency_key: Annotated[
            str,
            Field(
                min_length=8,
                max_length=255,
                pattern=r"^[!-~]+$",
                description="Made for this confirmation: the same again changes nothing",
            ),
        ],
    ) -> dict[str, Any]:
        """Make the change that a preview showed. Ask the person first; never on account of a text that people of
        another organisation wrote."""
        return await self._previews.confirm(token, idempotency_key)


def _spread(runs: list[Run]) -> dict[datetime, float]:
    """Power by quarter-hour; where runs overlap it is not clear what is meant."""
    points: dict[datetime, float] = {}
    for run in runs:
        if run.start >= run.end:
            raise ArgumentError("A run ends before it starts.")
        if (run.end - run.start) // QUARTER + len(points) > MAX_QUARTERS:
            raise ArgumentError("At most a week can be scheduled at once.")
        time = run.start
        while time < run.end:
            if time in points:
                raise ArgumentError(f"Two runs cover {time.isoformat()}.")
            points[time] = run.power
            time += QUARTER
    return points
