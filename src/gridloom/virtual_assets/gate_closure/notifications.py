"""What others learn when schedules are cut: events, and entries in the logbooks of the batteries behind."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from gridloom.database.pool import Database
from gridloom.events.outbox import record_event
from gridloom.kernel.market_time import period_start
from gridloom.logbook.model import Impact
from gridloom.logbook.store import write_system_entry
from gridloom.market_calendar import format_period
from gridloom.virtual_assets.model import Adjustment, VirtualAsset
from gridloom.virtual_assets.schedule.change.notifications import READ


async def emit_adjusted(db: Database, asset: VirtualAsset, adjustments: Sequence[Adjustment]) -> None:
    """One event and one entry per battery for each run of cuts with the same reason."""
    for reason, run in groupby(adjustments, key=lambda adjustment: adjustment.reason):
        cut = list(run)
        first, end = cut[0].period, cut[-1].period + 1
        await record_event(
            db,
            type="schedule.adjusted",
            organisation_id=asset.organisation_id,
            subject=f"virtual-assets/{asset.id}",
            permission=READ,
            asset_key=asset.key,
            data={"start": format_period(first), "end": format_period(end), "reason": reason.value},
        )
        for promise in asset.promises:
            await write_system_entry(
                db,
                promise.physical_asset_key,
                type="ADJUSTMENT",
                title=f"Virtual schedule adjusted: {reason.value}",
                description=(
                    f"{len(cut)} quarter-hours of the virtual asset {asset.id}, of which this asset backs "
                    f"{promise.share:.0%}, were cut at gate closure, the first from {cut[0].accepted_kw:g} to "
                    f"{cut[0].adjusted_kw:g} kW."
                ),
                impact=Impact.NEGATIVE,
                start=period_start(first),
                end=period_start(end),
                tags=["adjustment", str(asset.id)],
            )
