"""The plan that stands in each zone, and what it was made from, in PostgreSQL."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

import numpy as np

from gridloom.database.pool import Database
from gridloom.delivery.codec import Arrays, unpack
from gridloom.delivery.planning.standing_plan import StandingPlan
from gridloom.delivery.planning.zone import Inputs
from gridloom.delivery.plans.pieces import changed_pieces, join_pieces, unpack_earlier_plan
from gridloom.delivery.situation.look_store import Stamps

_PLAN, _INPUTS = "plan.", "inputs."


@dataclass(frozen=True, slots=True)
class ZoneState:
    """What the last run of a zone has left; `arrays` are its pieces as they are kept."""

    run_id: UUID | None
    settled_until: int | None
    stamps: Stamps
    plan: StandingPlan | None
    inputs: Inputs | None
    arrays: Arrays


async def lock_zone(db: Database, zone: str) -> ZoneState:
    """The zone's row, held until the transaction ends: its runs come one after the other."""
    row = await db.fetchrow(
        """insert into delivery_zone as z (delivery_zone) values ($1)
           on conflict (delivery_zone) do update set revision = z.revision + 1
           returning run_id, first_period, settled_until, asset_stamps, stamps, plan""",
        zone,
    )
    assert row is not None
    first, settled_until = row["first_period"], row["settled_until"]
    stamps = Stamps(row["asset_stamps"], row["stamps"])
    if row["plan"] is not None:
        earlier = unpack_earlier_plan(first, row["plan"])
        return ZoneState(row["run_id"], settled_until, stamps, earlier, None, {})
    arrays = _recall_arrays(zone, row["run_id"]) or await _read_arrays(db, zone)
    if not arrays:
        return ZoneState(row["run_id"], settled_until, stamps, None, None, {})
    plan = StandingPlan.of_arrays(first, _take_arrays(arrays, _PLAN))
    inputs = Inputs.of_arrays(first, _take_arrays(arrays, _INPUTS))
    return ZoneState(row["run_id"], settled_until, stamps, plan, inputs, arrays)


remembered: dict[str, tuple[UUID, Arrays]] = {}
"""By zone, what the last run of this process has kept, under the name of that run: it stands for good, whatever became
of the run; so whoever finds that run's name in the zone's row needs to read nothing more."""


def _recall_arrays(zone: str, run_id: UUID | None) -> Arrays | None:
    known_id, arrays = remembered.get(zone, (None, None))
    return arrays if run_id is not None and run_id == known_id else None


def _remember_arrays(zone: str, run_id: UUID, arrays: Arrays) -> None:
    for array in arrays.values():
        array.flags.writeable = False
    remembered[zone] = run_id, arrays


async def _read_arrays(db: Database, zone: str) -> dict[str, np.ndarray]:
    rows = await db.fetch(
        "select name, body from delivery_plan_piece where delivery_zone = $1 order by name, block", zone
    )
    return join_pieces([(row["name"], row["body"]) for row in rows])


def _take_arrays(arrays: Mapping[str, np.ndarray], kind: str) -> dict[str, np.ndarray]:
    return {name.removeprefix(kind): array for name, array in arrays.items() if name.startswith(kind)}


def _name_arrays(kind: str, arrays: Arrays) -> Arrays:
    return {kind + name: array for name, array in arrays.items()}


@dataclass(frozen=True, slots=True)
class Settled:
    """Up to where periods are final, and the first after those that leaves facts when it becomes final."""

    until: int
    first_settling: int | None


async def keep_plan(
    db: Database,
    zone: str,
    run_id: UUID,
    stamps: Stamps,
    plan: StandingPlan,
    inputs: Inputs,
    before: Arrays,
    settled: Settled,
) -> None:
    """Write the pieces that are not as they were `before`."""
    after = {**_name_arrays(_PLAN, plan.arrays()), **_name_arrays(_INPUTS, inputs.arrays())}
    if any(name in before and len(before[name]) > len(after[name]) for name in after):
        await _forget_pieces(db, zone)
        before = {}
    pieces = list(changed_pieces(before, after))
    await db.execute(
        """insert into delivery_plan_piece (delivery_zone, name, block, body)
           select $1, piece.name, piece.block, piece.body
           from unnest($2::text[], $3::int[], $4::bytea[]) piece (name, block, body)
           on conflict (delivery_zone, name, block) do update set body = excluded.body""",
        zone,
        [name for (name, _), _ in pieces],
        [block for (_, block), _ in pieces],
        [body for _, body in pieces],
    )
    await db.execute(
        """update delivery_zone set run_id = $2, stamps = $3, first_period = $4, end_period = $5, plan = null,
             settled_until = $6, first_settling = $7, asset_stamps = $8
           where delivery_zone = $1""",
        zone,
        run_id,
        stamps.batteries,
        plan.first,
        plan.end,
        settled.until,
        settled.first_settling,
        stamps.assets,
    )
    _remember_arrays(zone, run_id, after)


async def forget_plan(db: Database, zone: str) -> None:
    await _forget_pieces(db, zone)
    await db.execute(
        """update delivery_zone set run_id = null, first_period = null, end_period = null, first_settling = null,
             asset_stamps = '', stamps = '{}', plan = null
           where delivery_zone = $1""",
        zone,
    )


async def _forget_pieces(db: Database, zone: str) -> None:
    await db.execute("delete from delivery_plan_piece where delivery_zone = $1", zone)


async def keep_settled(db: Database, zone: str, settled: Settled) -> None:
    """Of a plan that stays."""
    await db.execute(
        "update delivery_zone set settled_until = $2, first_settling = $3 where delivery_zone = $1",
        zone,
        settled.until,
        settled.first_settling,
    )


async def read_planned_batteries(db: Database, zone: str) -> list[int]:
    """The batteries of the plan that stands."""
    row = await db.fetchrow("select first_period, plan from delivery_zone where delivery_zone = $1", zone)
    if row is not None and row["plan"] is not None:
        earlier: list[int] = unpack(row["plan"])["battery_keys"].tolist()
        return earlier
    rows = await db.fetch(
        "select name, body from delivery_plan_piece where delivery_zone = $1 and name = $2 order by block",
        zone,
        _PLAN + "battery_keys",
    )
    keys = join_pieces([(row["name"], row["body"]) for row in rows])
    return [key for array in keys.values() for key in array.tolist()]
