"""Events of runs: what batteries must do."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from gridloom.database.pool import Database
from gridloom.delivery.dispatch.versions import NewDispatchVersion
from gridloom.delivery.inputs.store import read_batteries
from gridloom.events.model import NewEvent
from gridloom.events.outbox import record_events
from gridloom.kernel.market_time import period_start
from gridloom.kernel.permission import Permission

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
