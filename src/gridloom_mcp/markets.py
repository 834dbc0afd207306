"""Tools on markets: auctions and what they are worth, the markets of a day, a plan, prices to expect."""

from __future__ import annotations

from typing import Any, Final

from gridloom_client import ProblemError
from gridloom_client.literals import Stage
from gridloom_mcp.answers import bound, join_runs, pick
from gridloom_mcp.arguments import AuctionID, BatteryName, Day, Tool
from gridloom_mcp.platform import Platform, take

MAX_AUCTIONS: Final = 20
MAX_VALUED: Final = 3
_ITEM: Final = ("deliveryZone", "start", "end", "ratedChargePower", "ratedDischargePower", "energyCapacity")


class MarketTools:
    """Prices in EUR or EUR/MWh, positions in kW."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._client = platform.client
        self.reading: tuple[Tool, ...] = (
            self.open_auctions,
            self.auction_worth,
            self.markets_of_day,
            self.market_plan,
            self.price_forecast,
        )

    async def open_auctions(self) -> dict[str, Any]:
        """Auctions of virtual batteries that are open or will open, the first to close first, with the organisation's
        own bid. The three that close first come with what they are worth: P10, P50, P90 in EUR for the window."""
        found = await take(self._client.auctions.list(status=["NOT_STARTED", "RUNNING"]), 200)
        found.sort(key=lambda one: one.end)
        rows = [self._show_auction(one) for one in found]
        for row, one in list(zip(rows, found, strict=True))[:MAX_VALUED]:
            row["worth"] = await self._try_to_value(str(one.id))
        return {"units": "EUR for the whole delivery window, kW, kWh", "auctions": bound(rows, MAX_AUCTIONS)}

    @staticmethod
    def _show_auction(one: Any) -> dict[str, Any]:
        return pick(one, "id", "status", "start", "end", "currentBid") | {"item": pick(one.item, *_ITEM)}

    async def _try_to_value(self, auction: str) -> dict[str, Any]:
        try:
            return pick(await self._client.auctions.value(auction), "p10", "p50", "p90")
        except ProblemError as problem:
            return {"status": problem.status, "reason": problem.name}

    async def auction_worth(self, auction: AuctionID) -> dict[str, Any]:
        """What an auction's battery is expected to earn, EUR for the whole window, and how well such values did on past
        windows. No other party learns that it was asked."""
        seen = await self._client.auctions.get(auction)
        value = await self._client.auctions.value(auction)
        return {
            "units": "EUR for the whole delivery window",
            **self._show_auction(seen),
            **pick(value, "p10", "p50", "p90", "mean", "perMWPerYear", "asOf"),
            "calibration": pick(value.calibration, "windows", "coverage", "below", "above"),
        }

    async def markets_of_day(self, battery: BatteryName, day: Day = None) -> dict[str, Any]:
        """The stages of a virtual battery's delivery day: gates, volumes traded in MWh, EUR earned, reserves in kW, and
        the order that stands."""
        found = await self._platform.find_virtual(battery)
        wanted = await self._platform.day_or_today(day)
        stages = await self._client.markets.day(await self._platform.organisation_id(), found.id, delivery_day=wanted)
        fields = ("stage", "status", "gate", "traded", "earned", "reserved", "orderID", "problem")
        return {
            "units": "MWh, EUR, kW",
            "day": wanted,
            **pick(found.seen, "id", "name"),
            "stages": [pick(stage, *fields) for stage in stages],
        }

    async def market_plan(self, battery: BatteryName, day: Day = None, stage: Stage | None = None) -> dict[str, Any]:
        """The plan for a stage of a virtual battery's day (the next one when none is named): what to trade or offer in
        kW, and what that is worth in EUR. Changes nothing and orders nothing."""
        found = await self._platform.find_virtual(battery)
        wanted = await self._platform.day_or_today(day)
        organisation_id = await self._platform.organisation_id()
        plan = await self._client.markets.plan(organisation_id, found.id, delivery_day=wanted, stage=stage)
        return {"units": "kW, positive is sold; EUR", **pick(found.seen, "id", "name"), **show_plan(plan)}

    async def price_forecast(self, day: Day = None) -> dict[str, Any]:
        """Day-ahead prices to expect on a market day, EUR/MWh: P10, P50 and P90 by hour."""
        wanted = await self._platform.day_or_today(day)
        found = await self._client.forecasts.day_ahead(delivery_day=wanted)
        points = found.forecast
        hours = [points[place : place + 4] for place in range(0, len(points), 4)]
        rows = [
            {"time": hour[0].time}
            | {name: sum(getattr(point, name) for point in hour) / len(hour) for name in ("p10", "p50", "p90")}
            for hour in hours
        ]
        return {"units": "EUR/MWh, mean of the hour", **pick(found, "deliveryDay", "series"), "hours": rows}


def show_plan(plan: Any) -> dict[str, Any]:
    """A plan's trades as runs, for an answer."""
    fields = ("deliveryDay", "stage", "gate", "worth", "p10", "p90", "endStateOfCharge", "minimumSurplus", "atAnyPrice")
    return {
        **pick(plan, *fields, "reserves"),
        "trades": bound(join_runs([trade for trade in plan.trades if trade.power]), 100),
        "positionAfter": bound(join_runs(plan.schedule), 100),
    }
