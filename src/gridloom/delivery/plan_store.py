"""The current plan of each zone and its inputs in PostgreSQL, in chunks: a change writes only those that it touches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

import numpy as np

from gridloom.delivery.codec import Arrays, pack, unpack
from gridloom.delivery.inputs.zone_status_store import InputVersions
from gridloom.delivery.model import CODE_OF_KIND, Mask, PartKind
from gridloom.delivery.planning.model import StoredInputs, ZonePlan
from gridloom.delivery.planning.netting import net, subtract_unserved
from gridloom.platform.database.pool import Database, is_distributed
from gridloom.platform.database.statement import NamedStatement

ROWS_PER_CHUNK: Final = 32
"""An asset's change rewrites the rows of its neighbours in the chunk: few enough, yet a plan is not many chunks."""
MIN_CHUNKED_COLUMNS: Final = 8
"""Columns from which on an array has a column for each period, and is worth cutting."""
ChunkKey = tuple[str, int]
"""The name of an array, and the number of a block of its rows."""


def changed_chunks(before: Arrays, after: Arrays) -> Iterator[tuple[ChunkKey, bytes]]:
    """The chunks of `after` that differ, packed."""
    for name, array in after.items():
        old = before.get(name)
        if old is array:
            continue
        differs = _find_differing_rows(old, array)
        height = ROWS_PER_CHUNK if array.ndim > 1 and array.shape[1] >= MIN_CHUNKED_COLUMNS else max(1, len(array))
        for block, low in enumerate(range(0, max(1, len(array)), height)):
            if differs[low : low + height].any():
                yield (name, block), pack({"rows": array[low : low + height]}, fast=True)


def _find_differing_rows(old: np.ndarray | None, new: np.ndarray) -> Mask:
    """To the last bit: a zero that has changed its sign is another. All where the array had another shape, or none."""
    if old is None or old.shape != new.shape or old.dtype != new.dtype:
        return np.ones(max(1, len(new)), dtype=bool)
    differs = np.asarray(old.view(np.int64) != new.view(np.int64))
    return differs if differs.ndim == 1 else np.asarray(differs.any(axis=1))


def join_chunks(chunks: Sequence[tuple[str, bytes]]) -> dict[str, np.ndarray]:
    """From chunks in the order of name and block."""
    found: dict[str, list[np.ndarray]] = {}
    for name, body in chunks:
        found.setdefault(name, []).append(unpack(body)["rows"])
    return {name: rows[0] if len(rows) == 1 else np.concatenate(rows) for name, rows in found.items()}


# --- plans of earlier releases ---------------------------------------------------------------------------------------


def unpack_earlier_plan(first: int, packed: bytes) -> ZonePlan:
    """A plan that was stored in one piece, without shares: which parts its batteries did is not known any more."""
    stored = unpack(packed)
    is_reserve = stored["part_of"][:, 1] >= CODE_OF_KIND[PartKind.FCR]
    netting = net(stored["power_kw"])
    after = net(subtract_unserved(stored["power_kw"], netting, stored["unserved_kw"]))
    arrays = {
        **{name: stored[name] for name in ("asset_keys", "power_kw", "battery_keys", "virtual_kw", "own_kw")},
        "energy_kwh": stored["energy_kwh"],
        "share_energy_start_kwh": stored["due_kwh"][:, 0].copy(),
        "share_energy_changes_kwh": np.diff(stored["due_kwh"], axis=1),
        "share_of": np.zeros((0, 2), dtype=np.int64),
        "shares": np.zeros(0),
        "reserve_keys": stored["part_of"][is_reserve],
        "reserve_kw": stored["part_kw"][is_reserve],
        "netted_fraction": stored["netted_part"],
        "totals_kw": np.stack([netting.exports_kw, netting.imports_kw, after.matched_kw, stored["unserved_kw"]]),
        "versions": np.zeros(len(stored["battery_keys"]), dtype=np.int64),
    }
    return ZonePlan.of_arrays(first, arrays)


_PLAN, _INPUTS = "plan.", "inputs."


@dataclass(frozen=True, slots=True)
class ZoneState:
    """The state that the last run of a zone has stored; `arrays` are as they are stored."""

    run_id: UUID | None
    final_until: int | None
    versions: InputVersions
    plan: ZonePlan | None
    inputs: StoredInputs | None
    arrays: Arrays


async def lock_zone(db: Database, zone: str) -> ZoneState:
    """The zone's row, held until the transaction ends: its runs come one after the other.

    From here on PostgreSQL plans the transaction's statements once for each connection: to plan the status of a zone
    anew takes as long as to read it. Citus plans statements of several shards by their parameters.
    """
    row = await db.fetchrow(
        """insert into delivery_zone as z (delivery_zone) values ($1)
           on conflict (delivery_zone) do update set revision = z.revision + 1
           returning run_id, first_period, settled_until, asset_stamps, stamps, plan,
                     set_config('plan_cache_mode', $2, true)""",
        zone,
        "auto" if is_distributed(db) else "force_generic_plan",
    )
    assert row is not None
    first, final_until = row["first_period"], row["settled_until"]
    versions = InputVersions(row["asset_stamps"], row["stamps"])
    if row["plan"] is not None:
        earlier = unpack_earlier_plan(first, row["plan"])
        return ZoneState(row["run_id"], final_until, versions, earlier, None, {})
    arrays = _cached_arrays(zone, row["run_id"]) or await _read_arrays(db, zone)
    if not arrays:
        return ZoneState(row["run_id"], final_until, versions, None, None, {})
    plan = ZonePlan.of_arrays(first, _take_arrays(arrays, _PLAN))
    inputs = StoredInputs.of_arrays(first, _take_arrays(arrays, _INPUTS))
    return ZoneState(row["run_id"], final_until, versions, plan, inputs, arrays)


_array_cache: dict[str, tuple[UUID, Arrays]] = {}
"""By zone, what the last run of this process has stored, under that run's id: a row with the same id needs no read."""


def forget_arrays() -> None:
    """So that the next run of each zone reads its plan, as in a process that has not run it before."""
    _array_cache.clear()


def _cached_arrays(zone: str, run_id: UUID | None) -> Arrays | None:
    known_id, arrays = _array_cache.get(zone, (None, None))
    return arrays if run_id is not None and run_id == known_id else None


def _cache_arrays(zone: str, run_id: UUID, arrays: Arrays) -> None:
    for array in arrays.values():
        array.flags.writeable = False
    _array_cache[zone] = run_id, arrays


async def _read_arrays(db: Database, zone: str) -> dict[str, np.ndarray]:
    rows = await db.fetch(
        "select name, body from delivery_plan_piece where delivery_zone = $1 order by name, block", zone
    )
    return join_chunks([(row["name"], row["body"]) for row in rows])


def _take_arrays(arrays: Mapping[str, np.ndarray], kind: str) -> dict[str, np.ndarray]:
    return {name.removeprefix(kind): array for name, array in arrays.items() if name.startswith(kind)}


def _name_arrays(kind: str, arrays: Arrays) -> Arrays:
    return {kind + name: array for name, array in arrays.items()}


@dataclass(frozen=True, slots=True)
class FinalUntil:
    """Up to where periods are final, and the first period after those that records facts when it becomes final."""

    until: int
    next_fact_period: int | None


_STORE_PLAN: Final = NamedStatement("""
update delivery_zone
set run_id = :run_id, stamps = :batteries, first_period = :first, end_period = :end, plan = null,
    settled_until = :until, first_settling = :next_fact_period, asset_stamps = :assets
where delivery_zone = :zone
""")


async def store_plan(
    db: Database,
    zone: str,
    run_id: UUID,
    versions: InputVersions,
    plan: ZonePlan,
    inputs: StoredInputs,
    before: Arrays,
    final: FinalUntil,
) -> None:
    """Write the chunks that differ from `before`."""
    after = {**_name_arrays(_PLAN, plan.arrays()), **_name_arrays(_INPUTS, inputs.arrays())}
    if any(name in before and len(before[name]) > len(after[name]) for name in after):
        await _delete_chunks(db, zone)
        before = {}
    chunks = list(changed_chunks(before, after))
    await db.execute(
        """insert into delivery_plan_piece (delivery_zone, name, block, body)
           select $1, piece.name, piece.block, piece.body
           from unnest($2::text[], $3::int[], $4::bytea[]) piece (name, block, body)
           on conflict (delivery_zone, name, block) do update set body = excluded.body""",
        zone,
        [name for (name, _), _ in chunks],
        [block for (_, block), _ in chunks],
        [body for _, body in chunks],
    )
    await _STORE_PLAN.execute(
        db,
        plan,
        zone=zone,
        run_id=run_id,
        batteries=versions.batteries,
        until=final.until,
        next_fact_period=final.next_fact_period,
        assets=versions.assets,
    )
    _cache_arrays(zone, run_id, after)


async def delete_plan(db: Database, zone: str) -> None:
    await _delete_chunks(db, zone)
    await db.execute(
        """update delivery_zone set run_id = null, first_period = null, end_period = null, first_settling = null,
             asset_stamps = '', stamps = '{}', plan = null
           where delivery_zone = $1""",
        zone,
    )


async def _delete_chunks(db: Database, zone: str) -> None:
    await db.execute("delete from delivery_plan_piece where delivery_zone = $1", zone)


async def store_final_until(db: Database, zone: str, final: FinalUntil) -> None:
    """Of a plan that stays as it is."""
    await db.execute(
        "update delivery_zone set settled_until = $2, first_settling = $3 where delivery_zone = $1",
        zone,
        final.until,
        final.next_fact_period,
    )


async def read_planned_batteries(db: Database, zone: str) -> list[int]:
    """The batteries of the current plan."""
    row = await db.fetchrow("select first_period, plan from delivery_zone where delivery_zone = $1", zone)
    if row is not None and row["plan"] is not None:
        earlier: list[int] = unpack(row["plan"])["battery_keys"].tolist()
        return earlier
    rows = await db.fetch(
        "select name, body from delivery_plan_piece where delivery_zone = $1 and name = $2 order by block",
        zone,
        _PLAN + "battery_keys",
    )
    keys = join_chunks([(row["name"], row["body"]) for row in rows])
    return [key for array in keys.values() for key in array.tolist()]
