"""Events of runs: what batteries must do."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

import numpy as np

from gridloom.delivery.dispatch.versions import NewDispatchVersion
from gridloom.delivery.inputs.store import read_batteries
from gridloom.delivery.model import KIND_OF_CODE
from gridloom.delivery.planning.model import ZonePlan
from gridloom.delivery.runs.store import read_owners
from gridloom.kernel.market_time import period_start
from gridloom.kernel.permission import Permission
from gridloom.kernel.units import POWER_TOLERANCE_KW
from gridloom.market_calendar import Floats
from gridloom.platform.database.pool import Database
from gridloom.platform.events.model import NewEvent
from gridloom.platform.events.outbox import record_events

READ = Permission.READ_SCHEDULES


async def emit_dispatched(
    db: Database,
    versions: Sequence[NewDispatchVersion],
    numbers: Mapping[int, int],
    moved: Collection[int],
) -> None:
    """One event for each battery that must do something else than before."""
    concerned = [one.asset_key for one in versions if one.asset_key in moved]
    if not concerned:
        return
    by_key = {battery.key: battery for battery in await read_batteries(db, concerned)}
    events = [
        NewEvent(
            type="dispatch.updated",
            organisation_id=by_key[one.asset_key].organisation_id,
            subject=f"physical-assets/{by_key[one.asset_key].id}",
            permission=READ,
            asset_key=one.asset_key,
            data={
                "start": period_start(one.first),
                "end": period_start(one.end),
                "version": numbers[one.asset_key],
            },
        )
        for one in versions
        if one.asset_key in moved
    ]
    await record_events(db, events)


async def emit_run_failed(db: Database, zone: str, now: datetime, reason: str) -> None:
    """One event for each organisation that owns batteries in the zone; the operator reads them all."""
    events = [
        NewEvent(
            type="delivery.run-failed",
            organisation_id=organisation_id,
            subject=f"delivery/zones/{zone}",
            permission=READ,
            data={"deliveryZone": zone, "failedAt": now, "reason": reason},
        )
        for organisation_id in await read_owners(db, zone)
    ]
    await record_events(db, events)


async def emit_shortfalls(db: Database, before: ZonePlan | None, after: ZonePlan, first: int) -> None:
    """One event for each virtual asset and market whose shortfall differs from that of the plan before."""
    old, new = ({} if plan is None else _sum_shortfalls(plan, first) for plan in (before, after))
    changed = [key for key in sorted(old.keys() | new.keys()) if _differ_from(old.get(key), new.get(key))]
    if not changed:
        return
    by_key = {one.key: one for one in await read_batteries(db, sorted({asset for asset, _ in changed}))}
    events = []
    for asset, code in changed:
        if asset not in by_key:
            continue
        power_kw = new.get((asset, code), old.get((asset, code)))
        assert power_kw is not None, "it is in one of them"
        short = np.flatnonzero(power_kw)
        market = KIND_OF_CODE[code].value
        span = {"start": period_start(first + int(short[0])), "end": period_start(first + int(short[-1]) + 1)}
        power = round(float(power_kw.max()), 6) if (asset, code) in new else 0.0
        events.append(
            NewEvent(
                type="delivery.reserve-shortfall",
                organisation_id=by_key[asset].organisation_id,
                subject=f"virtual-assets/{by_key[asset].id}",
                permission=Permission.READ_VIRTUAL_ASSETS,
                asset_key=asset,
                data={"market": market, **span, "power": power},
            )
        )
    await record_events(db, events)


def _sum_shortfalls(plan: ZonePlan, first: int) -> dict[tuple[int, int], Floats]:
    """By virtual asset and kind, from the period `first` on; only where there is any."""
    sums: dict[tuple[int, int], Floats] = {}
    low = max(0, first - plan.first)
    keys, unheld_kw = plan.unheld_reserves()
    for (asset, code, _), row in zip(keys.tolist(), unheld_kw[:, low:], strict=True):
        sums[asset, code] = sums.get((asset, code), 0.0) + row
    return {key: power_kw for key, power_kw in sums.items() if power_kw.any()}


def _differ_from(one: Floats | None, other: Floats | None) -> bool:
    if one is None or other is None:
        return True
    count = min(len(one), len(other))
    return bool(np.abs(one[:count] - other[:count]).max(initial=0.0) > POWER_TOLERANCE_KW)
