"""One battery's life through the SDK: registered, auctioned, scheduled, metered, settled, reported."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import httpx2
import pytest
from tests.people import OPERATOR_USERNAME, PASSWORD, People

from gridloom.platform.http.application import Application
from gridloom_client import ARROW, CSV, AsyncClient, ConflictError, ForbiddenError, UnprocessableError
from gridloom_client.answers import Auction, PhysicalAsset, VirtualAsset

HOUR = timedelta(hours=1)
PARAMETERS = {
    "ratedChargePower": 10_000,
    "ratedDischargePower": 10_000,
    "energyCapacity": 20_000,
    "chargeEfficiency": 0.94,
    "dischargeEfficiency": 0.94,
}


def client_of(edge: Application, username: str, password: str = PASSWORD) -> AsyncClient:
    transport = httpx2.ASGITransport(app=edge, raise_app_exceptions=False)  # type: ignore[arg-type]
    return AsyncClient("http://gridloom.test", username=username, password=password, transport=transport)


class Cast:
    """Who takes part: the operator and two traders, each with an SDK client."""

    def __init__(self, edge: Application) -> None:
        self.edge = edge
        self.operator = client_of(edge, OPERATOR_USERNAME)

    async def joins(self, name: str) -> tuple[Any, AsyncClient]:
        organisation = await self.operator.organisations.create(name=name)
        invitation = await self.operator.organisations.invite(
            organisation.id, email=f"{name.lower()}@example.org", role="ADMIN"
        )
        user = await self.operator.auth.accept_invitation(
            token=invitation.token, username=name.lower(), password=PASSWORD, display_name=name
        )
        assert user.organisation_id == organisation.id
        return organisation.id, client_of(self.edge, name.lower())


@pytest.fixture
async def cast(fresh_app: Callable[[], Awaitable[Application]]) -> Cast:
    edge = await fresh_app()
    async with People(edge) as people:
        await people.operator()
    return Cast(edge)


async def registered(cast: Cast, organisation_id: Any) -> PhysicalAsset:
    return await cast.operator.physical_assets.create(
        name="Husum 1", organisation_id=organisation_id, delivery_zone="TenneT", parameters=PARAMETERS
    )


async def auctioned(cast: Cast, asset: PhysicalAsset, participants: list[Any], now: datetime) -> Auction:
    day = (now + timedelta(days=3)).replace(hour=0, minute=0, second=0, microsecond=0)
    return await cast.operator.auctions.create(
        start=now + HOUR,
        end=now + 2 * HOUR,
        item={
            "start": day,
            "end": day + timedelta(days=1),
            "deliveryZone": "TenneT",
            "ratedChargePower": 5000,
            "ratedDischargePower": 5000,
            "energyCapacity": 10_000,
            "chargeEfficiency": 0.94,
            "dischargeEfficiency": 0.94,
        },
        backing=[{"physicalAssetID": asset.id, "share": 1}],
        participants=participants,
        hurdle_price=Decimal("100.00"),
    )


class TestJourney:
    async def test_leads_from_a_battery_to_its_revenue(self, cast: Cast):
        owner_id, owner = await cast.joins("Owner")
        trader_id, trader = await cast.joins("Trader")
        rival_id, rival = await cast.joins("Rival")
        asset = await registered(cast, owner_id)
        now = (await cast.operator.sandbox.clock()).now

        won = await self._wins(cast, await auctioned(cast, asset, [trader_id, rival_id], now), trader, rival)
        virtual = await trader.virtual_assets.get(trader_id, won)
        await self._schedules(trader, virtual)
        await self._suffers(owner, asset, virtual)
        await self._is_metered(owner, asset, now)
        await self._is_settled(cast, trader, virtual)

    async def _wins(self, cast: Cast, auction: Auction, trader: AsyncClient, rival: AsyncClient) -> Any:
        assert auction.hurdle_price == 100
        with pytest.raises(ConflictError):
            await trader.auctions.bid(auction.id, price="500.00")
        await cast.operator.sandbox.set_clock(advance="PT61M")
        bid = await trader.auctions.bid(auction.id, price=Decimal("1250.50"))
        await rival.auctions.bid(auction.id, price="1250.49")
        assert [one.price async for one in trader.auctions.bids(auction.id)] == [bid.price] == [Decimal("1250.50")]
        seen = await trader.auctions.get(auction.id)
        assert seen.status == "RUNNING"
        assert seen.current_bid is not None
        assert seen.hurdle_price is None

        await cast.operator.sandbox.set_clock(now=auction.end + timedelta(seconds=5))
        seen = await trader.auctions.get(auction.id)
        assert seen.status == "WON"
        assert (await rival.auctions.get(auction.id)).status == "LOST"
        results = await cast.operator.auctions.results(auction.id)
        assert results.winning_bid_id == bid.id
        assert [ranked.rank for ranked in results.bids] == [1, 2]
        with pytest.raises(ForbiddenError):
            await rival.auctions.results(auction.id)
        return seen.virtual_asset_id

    async def _schedules(self, trader: AsyncClient, virtual: VirtualAsset) -> None:
        (block,) = [one async for one in trader.virtual_assets.blocks(virtual.organisation_id, virtual.id)]
        where = (virtual.organisation_id, virtual.id, block.id)
        quarter = timedelta(minutes=15)
        schedule = [{"time": virtual.start + n * quarter, "power": 1000.0} for n in range(4)]
        scheduled = await trader.virtual_assets.set_schedule(*where, schedule=schedule)
        assert not scheduled.imbalance.balanced
        assert scheduled.imbalance.imbalance_charge == pytest.approx(1000 / 0.94)
        with pytest.raises(UnprocessableError) as refused:
            await trader.virtual_assets.set_schedule(*where, schedule=[{"time": virtual.start, "power": 5001}])
        assert refused.value.detail
        states = await trader.virtual_assets.projected_state_of_energy(
            *where[:2], start=virtual.start, end=virtual.start + HOUR
        )
        assert states[0].energy <= 5000
        table = await trader.virtual_assets.block.content(CSV, *where, start=virtual.start, end=virtual.start + HOUR)
        assert table.count(b"\n") >= 5
        history = [version async for version in trader.virtual_assets.schedule_history(*where[:2])]
        assert {version.kind for version in history} == {"ALLOCATION", "SCHEDULE"}
        operational = await trader.virtual_assets.operational(
            *where[:2], categories=["cyclesTotal"], start=virtual.start, end=virtual.start + HOUR
        )
        assert set(operational.data) == {"cyclesTotal"}

    async def _suffers(self, owner: AsyncClient, asset: PhysicalAsset, virtual: VirtualAsset) -> None:
        reported = await owner.physical_assets.report_unavailability(
            asset.id,
            description="Transformer",
            type="OUTAGE",
            start=virtual.start,
            end=virtual.start + HOUR,
            volume={"energyCapacity": 0, "powerCapacity": {"charge": 4000, "discharge": 4000}},
        )
        available = await owner.physical_assets.availability(
            asset.id, start=virtual.start, end=virtual.start + 2 * HOUR
        )
        assert [point.available_discharge_power for point in available.availability] == [6000.0] * 4 + [10_000.0] * 4
        moved = await owner.physical_assets.change_unavailability(asset.id, reported.id, description="Transformer 2")
        assert moved.description == "Transformer 2"
        entries = [entry async for entry in owner.physical_assets.logbook(asset.id)]
        assert any(entry.source == "SYSTEM" for entry in entries)

    async def _is_metered(self, owner: AsyncClient, asset: PhysicalAsset, now: datetime) -> None:
        start = now.replace(minute=0, second=0, microsecond=0) - 2 * HOUR
        times = [start + timedelta(minutes=n) for n in range(60)]
        rows = [{"signal": "active_power", "time": time, "value": 600.0} for time in times]
        written = await owner.monitoring.write(asset.id, rows)
        assert (written.written, written.refused) == (60, 0)
        sums = await owner.monitoring.sums(asset.id, start=start, end=start + HOUR, datapoints=["active_power"])
        assert sums.data["active_power"].count == 60
        assert (await owner.monitoring.latest(asset.id)).data["active_power"].value == 600.0
        assert [signal.name async for signal in owner.monitoring.signals(asset.id)] == ["active_power"]
        arrow = await owner.monitoring.read.content(ARROW, asset.id, start=start, end=start + HOUR)
        assert len(arrow) > 100
        assert (await owner.physical_assets.health(asset.id)).status

    async def _is_settled(self, cast: Cast, trader: AsyncClient, virtual: VirtualAsset) -> None:
        trade = {
            "tradeID": "T-1",
            "assetID": virtual.id,
            "time": virtual.start,
            "side": "SELL",
            "volume": 0.25,
            "price": Decimal("80.00"),
            "market": "INTRADAY_CONTINUOUS",
        }
        first = await cast.operator.settlements.add_wholesale_trades([trade])
        again = await cast.operator.settlements.add_wholesale_trades([trade])
        assert (first.inserted, again.unchanged) == (1, 1)
        assert [one.price async for one in cast.operator.settlements.wholesale_trades()] == [Decimal(80)]
        report = await trader.revenue.of_virtual_asset(
            virtual.id, start=virtual.start, end=virtual.end, resolution="daily"
        )
        assert len(report.data) == 46
        daily = await trader.revenue.wholesale(virtual.id, start=virtual.start, end=virtual.end)
        assert daily.revenue == pytest.approx(20.0)
        await cast.operator.settlements.add_wholesale_trades([{**trade, "price": Decimal(90)}])
        old, new = [one async for one in cast.operator.settlements.wholesale_trades(versions=True)]
        assert (old.price, old.superseded_by, old.superseded_at) == (Decimal(80), new.recorded_by, new.recorded_at)
        assert (new.price, new.superseded_by) == (Decimal(90), None)
