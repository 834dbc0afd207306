"""Assets put into the database directly, and facts recorded for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import asyncpg
from tests.revenue import reference

from gridloom.kernel.ids import uuid7
from gridloom.settlements.model import (
    AFRR_ACTIVATIONS,
    AFRR_CAPACITY_AWARDS,
    FCR_AWARDS,
    NET_OFFS,
    TOLLING_CONTRACTS,
    WHOLESALE_TRADES,
    AFRRActivation,
    AFRRCapacityAward,
    FactKind,
    FCRAward,
    NetOff,
    Origin,
    Row,
    TollingContract,
    WholesaleTrade,
)
from gridloom.settlements.recording import RecordedFacts, Recorder, record_settlements
from gridloom.virtual_assets.schedule.change.apply import CLOSE_GATE

CHARGE, DISCHARGE = 0.8, 1.2
"""Of the rated power, which is their mean: what an asset charges and discharges with."""
LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)
FAR_OFF = datetime(2040, 1, 1, tzinfo=UTC)


@dataclass
class World:
    pool: asyncpg.Pool[Any]
    organisation_id: UUID
    by: UUID = field(default_factory=uuid7)

    async def virtual_asset(
        self,
        power_mw: float = 10.0,
        *,
        start: datetime = LONG_AGO,
        end: datetime = FAR_OFF,
        portfolio_id: UUID | None = None,
    ) -> UUID:
        id = uuid7()
        key = await self._asset(id, "VIRTUAL")
        await self.pool.execute(
            """
            insert into virtual_asset (asset_key, organisation_id, portfolio_id, name, start_at, end_at, delivery_zone,
              rated_charge_power_kw, rated_discharge_power_kw, energy_capacity_kwh, charge_efficiency,
              discharge_efficiency, gate_closure_s, initial_soc, final_soc_target, final_soc_tolerance, created_at,
              version, end_kwh)
            values ($1, $2, $3, 'v', $4, $5, 'TenneT', $6, $7, 1000, 1, 1, 480, 0.5, 0.5, 0.01, now(), 1, 500)
            """,
            key, self.organisation_id, portfolio_id, start, end, CHARGE * power_mw * 1000, DISCHARGE * power_mw * 1000,
        )  # fmt: skip
        return id

    async def bare_asset(self) -> UUID:
        """An asset that is nothing but known: enough to settle for."""
        id = uuid7()
        await self._asset(id, "VIRTUAL")
        return id

    async def portfolio(self) -> UUID:
        id = uuid7()
        await self.pool.execute(
            "insert into portfolio (id, organisation_id, name) values ($1, $2, 'p')", id, self.organisation_id
        )
        return id

    async def fleet(self) -> UUID:
        id = uuid7()
        await self.pool.execute(
            "insert into fleet (id, organisation_id, name) values ($1, $2, 'f')", id, self.organisation_id
        )
        return id

    async def physical_asset(self, power_mw: float = 20.0, *, fleet_id: UUID | None = None) -> UUID:
        id = uuid7()
        key = await self._asset(id, "PHYSICAL")
        await self.pool.execute(
            "insert into physical_asset (asset_key, fleet_id, name, delivery_zone, control_area)"
            " values ($1, $2, 'p', 'TenneT', 'TenneT')",
            key,
            fleet_id,
        )
        await self.rate(id, power_mw, LONG_AGO)
        return id

    async def rate(self, physical_id: UUID, power_mw: float, valid_from: datetime) -> None:
        await self.pool.execute(
            """
            insert into physical_asset_parameters (asset_key, version, valid_from, rated_charge_power_kw,
              rated_discharge_power_kw, energy_capacity_kwh, min_state_of_charge, max_state_of_charge,
              charge_efficiency, discharge_efficiency, fcr_limit_ratio, recorded_by)
            select key, 1 + (select count(*) from physical_asset_parameters p where p.asset_key = key),
              $2, $3, $4, 1000, 0, 1, 1, 1, 0.8, $5
            from asset where id = $1
            """,
            physical_id, valid_from, CHARGE * power_mw * 1000, DISCHARGE * power_mw * 1000, self.by,
        )  # fmt: skip

    async def back(self, virtual_id: UUID, physical_id: UUID, share: float, position: int = 1) -> None:
        await self.pool.execute(
            """
            insert into virtual_backing
              (asset_key, physical_asset_key, position, share, charge_kw, discharge_kw, energy_kwh)
            select v.key, p.key, $4, $3, 1, 1, 1 from asset v, asset p where v.id = $1 and p.id = $2
            """,
            virtual_id, physical_id, share, position,
        )  # fmt: skip

    async def auction(
        self, virtual_id: UUID, start: datetime, end: datetime, price: float, hurdle: float | None = None
    ) -> None:
        auction_id = uuid7()
        await self.pool.execute(
            "insert into auction_allocation (auction_id, asset_key) values ($1, $2) on conflict do nothing",
            auction_id, await self.key_of(virtual_id),
        )  # fmt: skip
        await self.pool.execute(
            """
            insert into auction (id, opens_at, closes_at, item_id, delivery_start, delivery_end, delivery_zone,
              rated_charge_power_kw, rated_discharge_power_kw, energy_capacity_kwh, charge_efficiency,
              discharge_efficiency, initial_soc, last_soc_target, final_soc_tolerance, hurdle_price_eur, state, outcome,
              winning_bid_id, winner_id, winning_price_eur, virtual_asset_id, cleared_at)
            values ($1, '2020-01-01', '2020-01-02', $1, $2, $3, 'TenneT', 1, 1, 1, 1, 1, 0.5, 0.5, 0.01,
              $4::float8::numeric, 'CLEARED', 'ALLOCATED', $1, $5, $6::float8::numeric, $7, '2020-01-02')
            """,
            auction_id, start, end, hurdle, self.organisation_id, price, virtual_id,
        )  # fmt: skip

    async def key_of(self, id: UUID) -> int:
        return int(await self.pool.fetchval("select key from asset where id = $1", id))

    async def record(self, kind: FactKind, rows: Sequence[Row], origin: Origin = Origin.OPERATOR) -> RecordedFacts:
        async with self.pool.acquire() as connection, connection.transaction():
            recorded = await record_settlements(connection, kind, rows, Recorder(self.by, origin))
            # No battery is behind these assets: no job is to revalidate their schedules.
            await connection.execute(
                """delete from job where kind = $1
                     and key in (select key::text from asset where organisation_id = $2)""",
                CLOSE_GATE,
                self.organisation_id,
            )
            return recorded

    async def record_facts(self, facts: Sequence[reference.Fact], ids: Sequence[UUID]) -> None:
        """Facts of the reference, whose assets are numbers, for these assets."""
        by_kind: dict[str, tuple[FactKind, list[Row]]] = {}
        for fact in facts:
            if isinstance(fact, reference.Auction):
                hurdle = None if fact.hurdle is None else float(fact.hurdle)
                await self.auction(ids[fact.asset], fact.start, fact.end, float(fact.price), hurdle)
                continue
            kind, row = row_of(fact, ids[fact.asset])
            by_kind.setdefault(kind.path, (kind, []))[1].append(row)
        for kind, rows in by_kind.values():
            await self.record(kind, rows)

    async def _asset(self, id: UUID, kind: str) -> int:
        return int(
            await self.pool.fetchval(
                "insert into asset (id, kind, organisation_id) values ($1, $2, $3) returning key",
                id,
                kind,
                self.organisation_id,
            )
        )


def row_of(fact: reference.Fact, id: UUID) -> tuple[FactKind, Row]:
    asset = str(id)
    if isinstance(fact, reference.Trade):
        return WHOLESALE_TRADES, WholesaleTrade(
            asset_id=asset,
            trade_id=fact.trade_id,
            time=fact.time,
            side=fact.side,  # type: ignore[arg-type]
            volume=float(fact.volume),
            price=float(fact.price),
            market="DAY_AHEAD",
        )
    if isinstance(fact, reference.FCR):
        return FCR_AWARDS, FCRAward(
            asset_id=asset,
            delivery_day=fact.day,
            product=fact.product,
            capacity=float(fact.capacity),
            settlement_price=float(fact.price),
            delivery_hours=float(fact.hours),
        )
    if isinstance(fact, reference.AFRRCapacity):
        return AFRR_CAPACITY_AWARDS, AFRRCapacityAward(
            asset_id=asset,
            delivery_day=fact.day,
            product=fact.product,
            capacity=float(fact.capacity),
            price=float(fact.price),
            delivery_hours=float(fact.hours),
        )
    if isinstance(fact, reference.AFRREnergy):
        return AFRR_ACTIVATIONS, AFRRActivation(
            asset_id=asset,
            time=fact.time,
            direction=fact.direction,  # type: ignore[arg-type]
            volume=float(fact.volume),
            price=float(fact.price),
        )
    if isinstance(fact, reference.NetOff):
        return NET_OFFS, NetOff(asset_id=asset, time=fact.time, volume=float(fact.volume))
    assert isinstance(fact, reference.Toll)
    return TOLLING_CONTRACTS, TollingContract(
        asset_id=asset,
        contract_id=fact.contract_id,
        start=fact.start,
        end=fact.end,
        annual_price=float(fact.annual_price),
    )
