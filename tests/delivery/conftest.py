"""A zone of batteries and virtual assets on a service whose clock can be moved."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from tests.people import OrganisationUnderTest, People
from tests.virtual_assets.conftest import QUARTER, new_asset, register, tomorrow, wire

from gridloom.kernel.market_time import market_day_of, market_day_window, period_count

if TYPE_CHECKING:
    from tests.clients import PersonClient

    from gridloom.platform.http.application import Application

GATE = timedelta(seconds=480)
LOSSES = {"chargeEfficiency": 0.92, "dischargeEfficiency": 0.95}
VIRTUAL_LOSSES = {"chargeEfficiency": 0.9, "dischargeEfficiency": 0.94}
"""Of a battery, and of the virtual assets on it: other ones each way, so that no two are taken for each other."""


def _find_start() -> datetime:
    """Of a market day, so far away that the hours before it lie ahead whatever the time of day."""
    return market_day_window(market_day_of(tomorrow()) + timedelta(days=1)).start


def find_afternoon_before() -> datetime:
    """The first market day of a yard: gates of the hours before it are open, and no noon lies between."""
    return _find_start() - timedelta(hours=8)


@dataclass
class Yard:
    """An owner with batteries, a trader with virtual ones, and the operator who allocates them; all in TenneT."""

    edge: Application
    people: People
    operator: PersonClient
    owner: OrganisationUnderTest
    trader: OrganisationUnderTest
    start: datetime = field(default_factory=_find_start)

    async def battery(self, **parameters: float) -> dict[str, Any]:
        battery: dict[str, Any] = await register(self.operator, self.owner.id, **{**LOSSES, **parameters})
        return battery

    async def virtual(self, *batteries: dict[str, Any], **changes: Any) -> dict[str, Any]:
        body = new_asset(
            list(batteries),
            **{"start": wire(self.start), "end": wire(self.start + timedelta(days=2)), **VIRTUAL_LOSSES, **changes},
        )
        answer = await self.operator.post(f"/organisations/{self.trader.id}/virtual-assets", json=body)
        assert answer.status_code == 201, answer.text
        made: dict[str, Any] = answer.json()
        return made

    def url(self, virtual: dict[str, Any]) -> str:
        return f"/organisations/{self.trader.id}/virtual-assets/{virtual['id']}"

    async def schedule(self, virtual: dict[str, Any], powers: list[float], offset: int = 0) -> None:
        points = [
            {"time": wire(self.start + (offset + place) * QUARTER), "power": power}
            for place, power in enumerate(powers)
        ]
        answer = await self.trader.trader.put(
            f"{self.url(virtual)}/blocks/{virtual['blockIDs'][0]}", json={"schedule": points}
        )
        assert answer.status_code == 200, answer.text

    def begin_later(self) -> None:
        """Two market days later: what is recorded now is announced in time, whatever the hour of the day."""
        self.start = market_day_window(market_day_of(self.start) + timedelta(days=2)).start

    async def now(self) -> datetime:
        moment: datetime = await self.edge.pool.fetchval("select platform_now()")
        return moment

    async def advance(self, until: datetime) -> None:
        from gridloom.platform.jobs import run_due_platform_jobs

        async def set_clock(moment: datetime) -> None:
            await self.edge.pool.execute(
                "update sandbox_clock set ahead = greatest(ahead, $1::timestamptz - clock_timestamp())", moment
            )

        await run_due_platform_jobs(self.edge.pool, until, set_clock)

    async def gate_of(self, offset: int) -> None:
        """Have the gate of a period close and what is due at it happen."""
        await self.advance(self.start + offset * QUARTER - GATE + timedelta(seconds=1))

    async def dispatch(self, battery: dict[str, Any], **params: str) -> Any:
        window = {"start": wire(self.start), "end": wire(self.start + timedelta(days=1)), **params}
        answer = await self.owner.trader.get(f"/physical-assets/{battery['id']}/dispatch", params=window)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def powers(self, battery: dict[str, Any], count: int = 4) -> list[float]:
        return [point["power"] for point in (await self.dispatch(battery))["dispatch"][:count]]


@pytest.fixture
async def yard(fresh_app: Any) -> AsyncIterator[Yard]:
    async with yard_of(await fresh_app(find_afternoon_before())) as made:
        yield made


@asynccontextmanager
async def yard_of(edge: Application) -> AsyncIterator[Yard]:
    async with People(edge) as people:
        operator = (await people.operator()).client
        yield Yard(edge, people, operator, await people.new_organisation(), await people.new_organisation())


def next_day_of(periods: int, after_days: int = 7) -> date:
    """At least a week from now, so that everything can happen in its order."""
    day = market_day_of(datetime.now(UTC)) + timedelta(days=after_days)
    while period_count(day) != periods:
        day += timedelta(days=1)
    return day


def at(moment: str) -> datetime:
    return datetime.fromisoformat(moment).astimezone(UTC)
