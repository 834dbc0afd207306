"""Tools on money: position, revenue, statements, back-tests."""

from __future__ import annotations

from collections import defaultdict
from decimal import Decimal
from typing import Annotated, Any, Final

from pydantic import Field

from gridloom_mcp.answers import bound, pick
from gridloom_mcp.arguments import BatteryName, Day, FirstDay, LastDay, OptionalBattery, Tool
from gridloom_mcp.platform import Platform, take

MAX_OPEN: Final = 20
MAX_LINES: Final = 60
_DAY_FIELDS: Final = ("deliveryDay", "earned", "foresight", "charged", "discharged")


class EarningTools:
    """EUR; positive is received."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._client = platform.client
        self.reading: tuple[Tool, ...] = (
            self.position,
            self.revenue,
            self.statement,
            self.issued_statements,
            self.backtests,
        )

    async def position(self, battery: BatteryName, day: Day = None) -> dict[str, Any]:
        """A virtual battery's position on a market day in MWh: bought, sold, scheduled, delivered, what is left open,
        and what the open part costs in EUR."""
        found = await self._platform.find_virtual(battery)
        start, end = await self._platform.market_day(day)
        organisation_id = await self._platform.organisation_id()
        points = await self._client.virtual_assets.position(organisation_id, found.id, start=start, end=end)
        names = ("bought", "sold", "scheduled", "activated", "delivered", "open")
        largest = sorted((one for one in points if one.open), key=lambda one: -abs(one.open))
        rows = [pick(one, "time", "open", "imbalancePrice", "imbalanceCost") for one in largest]
        return {
            "units": "MWh, EUR/MWh, EUR; open = sold − bought + activated − delivered",
            **pick(found.seen, "id", "name"),
            "day": {name: sum(getattr(one, name) for one in points) for name in names},
            "imbalanceCost": sum(one.imbalance_cost or 0 for one in points),
            "largestOpen": bound(rows, MAX_OPEN),
        }

    async def revenue(
        self, battery: OptionalBattery = None, first_day: FirstDay = None, last_day: LastDay = None
    ) -> dict[str, Any]:
        """Revenue in EUR by category and day, of one battery or of all that the organisation holds and owns. What
        assets earned, whoever keeps it: the statement says who pays and who earns."""
        start, end = await self._platform.days_window(first_day, last_day)
        asked: dict[str, Any] = {"start": start, "end": end, "resolution": "daily"}
        if battery is None:
            report = await self._client.revenue.of_organisation(await self._platform.organisation_id(), **asked)
        else:
            found = await self._platform.find_battery(battery)
            read = self._client.revenue.of_virtual_asset if found.is_virtual else self._client.revenue.of_physical_asset
            report = await read(found.id, **asked)
        earned = {
            series.data_point_name: [point for point in report.data[series.data_point_name] if point.value]
            for series in report.meta_data
            if series.data_point_name.startswith("revenue_")
        }
        sums = {name: sum(point.value or 0.0 for point in points) for name, points in earned.items() if points}
        days = {name: [pick(point, "time", "value") for point in points] for name, points in earned.items() if points}
        return {
            "units": "EUR",
            "start": start,
            "end": end,
            "sums": sums,
            "days": {name: bound(rows, 31) for name, rows in days.items()},
        }

    async def statement(
        self, battery: OptionalBattery = None, first_day: FirstDay = None, last_day: LastDay = None
    ) -> dict[str, Any]:
        """Who pays and who earns, in EUR, summed by line and counterparty, from the organisation's side."""
        start, end = await self._platform.days_window(first_day, last_day)
        asked: dict[str, Any] = {"start": start, "end": end, "resolution": "daily"}
        if battery is None:
            organisation_id = await self._platform.organisation_id()
            found = await self._client.revenue.statement_of_organisation(organisation_id, **asked)
        else:
            asset = await self._platform.find_battery(battery)
            revenue = self._client.revenue
            read = revenue.statement_of_virtual_asset if asset.is_virtual else revenue.statement_of_physical_asset
            found = await read(asset.id, **asked)
        sums: defaultdict[tuple[str, str], Decimal] = defaultdict(Decimal)
        for line in found.lines:
            sums[line.line, line.counterparty] += line.amount
        rows = [{"line": line, "counterparty": other, "amount": sum_} for (line, other), sum_ in sorted(sums.items())]
        return {
            "units": "EUR, positive is received",
            "start": start,
            "end": end,
            "total": found.total,
            "lines": bound(rows, MAX_LINES),
        }

    async def issued_statements(self) -> dict[str, Any]:
        """The organisation's monthly statements, the newest first: issued ones never change, preliminary ones are what
        facts say now. EUR."""
        organisation_id = await self._platform.organisation_id()
        found = await take(self._client.statements.list(organisation_id), 13)
        fields = ("id", "number", "month", "status", "issuedAt", "total", "toDate")
        return {"units": "EUR", "statements": bound([pick(one, *fields) for one in found], 12)}

    async def backtests(
        self,
        backtest: Annotated[
            str | None, Field(max_length=36, description="An id for its days; the newest when left out")
        ] = None,
    ) -> dict[str, Any]:
        """Past days played again: the organisation's back-tests with earnings in EUR, or the days of one of them."""
        if backtest is None:
            found = await take(self._client.backtests.list(), 11)
            return {"units": "EUR, kW, kWh", "backtests": bound([_show_backtest(one) for one in found], 10)}
        one = await self._client.backtests.get(backtest)
        days = await take(self._client.backtests.days(backtest), 93)
        return {
            "units": "EUR, kW, kWh",
            **_show_backtest(one),
            "days": bound([pick(day, *_DAY_FIELDS) for day in days], 92),
        }


def _show_backtest(one: Any) -> dict[str, Any]:
    fields = ("id", "status", "progress", "start", "end", "series", "policy", "battery", "earned", "foresight", "share")
    return pick(one, *fields, "stages")
