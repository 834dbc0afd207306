"""What physical assets have promised, and what they are, in PostgreSQL."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from gridloom.database.pool import Database
from gridloom.kernel.ids import PhysicalAssetID
from gridloom.kernel.window import Window
from gridloom.physical_assets.store import lock_asset
from gridloom.virtual_assets.backing.ledger import Capacity, Demand, Means, Step
from gridloom.virtual_assets.model import Efficiency


@dataclass(frozen=True, slots=True)
class PhysicalTerms:
    """What matters of a physical asset when it is to back a virtual one: its worst means over the window."""

    key: int
    id: PhysicalAssetID
    status: str
    worst: Means


async def lock_physical_assets(db: Database, asset_ids: Collection[UUID]) -> dict[UUID, int]:
    """The keys of those that exist, each held until the transaction ends, so that promises come one after the other.

    Always in the order of keys, whoever asks: two allocations cannot wait for each other.
    """
    rows = await db.fetch(
        "select key, id from asset where id = any($1::uuid[]) and kind = 'PHYSICAL' order by key", list(asset_ids)
    )
    for row in rows:
        await lock_asset(db, row["key"])
    return {row["id"]: row["key"] for row in rows}


async def read_physical_terms(db: Database, keys: Collection[int], window: Window) -> list[PhysicalTerms]:
    """Over all parameters in force at some time in the window."""
    rows = await db.fetch(
        """
        with version as (
          select distinct on (asset_key, valid_from) *,
                 lead(valid_from) over (partition by asset_key order by valid_from, version) as next_from
          from physical_asset_parameters
          where asset_key = any($1::int[]) and valid_from < $3
          order by asset_key, valid_from, version desc
        )
        select a.key, a.id, p.status, min(v.charge_efficiency) as charge, min(v.discharge_efficiency) as discharge,
               min(v.max_state_of_charge - v.min_state_of_charge) as usable
        from asset a join physical_asset p on p.asset_key = a.key join version v on v.asset_key = a.key
        where v.next_from is null or v.next_from > $2
        group by a.key, a.id, p.status
        """,
        list(keys),
        window.start,
        window.end,
    )
    return [
        PhysicalTerms(
            row["key"],
            PhysicalAssetID(row["id"]),
            row["status"],
            Means(window.start, Efficiency(row["charge"], row["discharge"]), row["usable"]),
        )
        for row in rows
    ]


async def read_means(db: Database, key: int) -> list[Means]:
    """All that were or will be in force, in the order of time."""
    rows = await db.fetch(
        """select distinct on (valid_from) valid_from, charge_efficiency, discharge_efficiency,
                  max_state_of_charge - min_state_of_charge as usable
           from physical_asset_parameters where asset_key = $1 order by valid_from, version desc""",
        key,
    )
    return [
        Means(row["valid_from"], Efficiency(row["charge_efficiency"], row["discharge_efficiency"]), row["usable"])
        for row in rows
    ]


async def read_demands(db: Database, key: int) -> list[Demand]:
    """What each virtual asset that a physical one backs asks of it, in the order of their starts."""
    rows = await db.fetch(
        """select v.start_at, v.end_at, b.share, v.rated_charge_power_kw, v.rated_discharge_power_kw,
                  v.energy_capacity_kwh, v.charge_efficiency, v.discharge_efficiency
           from virtual_backing b join virtual_asset v using (asset_key)
           where b.physical_asset_key = $1 order by v.start_at, b.asset_key""",
        key,
    )
    return [
        Demand(Window(start, end), share, Capacity(charge, discharge, energy), Efficiency(eta_charge, eta_discharge))
        for start, end, share, charge, discharge, energy, eta_charge, eta_discharge in rows
    ]


async def read_all_steps(db: Database, key: int) -> list[Step]:
    """What is promised of a physical asset at any time."""
    everything = Window(datetime(1970, 1, 1, tzinfo=UTC), datetime(2300, 1, 1, tzinfo=UTC))
    return (await read_steps(db, [key], everything))[key]


async def read_steps(db: Database, keys: Collection[int], window: Window) -> dict[int, list[Step]]:
    """What of each physical asset is promised in the window, in the order of time."""
    steps: dict[int, list[Step]] = {key: [] for key in keys}
    for row in await db.fetch(
        """select physical_asset_key, start_at, end_at, charge_kw, discharge_kw, energy_kwh,
                  limit_charge_kw, limit_discharge_kw, limit_energy_kwh
           from capacity_promised
           where physical_asset_key = any($1::int[]) and tstzrange(start_at, end_at) && tstzrange($2, $3)
           order by physical_asset_key, start_at""",
        list(steps),
        window.start,
        window.end,
    ):
        steps[row["physical_asset_key"]].append(
            Step(
                row["start_at"],
                row["end_at"],
                Capacity(row["charge_kw"], row["discharge_kw"], row["energy_kwh"]),
                Capacity(row["limit_charge_kw"], row["limit_discharge_kw"], row["limit_energy_kwh"]),
            )
        )
    return steps


async def replace_steps(db: Database, key: int, before: Sequence[Step], after: Sequence[Step]) -> None:
    await db.execute(
        "delete from capacity_promised where physical_asset_key = $1 and start_at = any($2::timestamptz[])",
        key,
        [step.start for step in before],
    )
    await db.executemany(
        "insert into capacity_promised values ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
        [
            (
                key,
                step.start,
                step.end,
                step.promised.charge_kw,
                step.promised.discharge_kw,
                step.promised.energy_kwh,
                step.limit.charge_kw,
                step.limit.discharge_kw,
                step.limit.energy_kwh,
            )
            for step in after
        ],
    )
