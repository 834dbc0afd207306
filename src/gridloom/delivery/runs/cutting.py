"""Cutting schedules that no longer fit when their gates close, before a zone is planned."""

from __future__ import annotations

import time
from datetime import datetime
from typing import Final

import structlog

from gridloom.database.away import DATABASE_FAULTS, Outage, outage_of
from gridloom.database.pool import Connection
from gridloom.delivery.situation import store
from gridloom.virtual_assets.gate_closure.revalidation import revalidate

log = structlog.get_logger()

LOCK_WAIT_S: Final = 5.0
"""For a virtual asset that somebody holds: far longer than a change of this platform's own takes."""
PATIENCE_S: Final = 20.0
"""For all of them."""


async def cut_closed_misfits(db: Connection, zone: str, closed_until: int, now: datetime) -> bool:
    """Cut what does not fit and has closed; whether anything was.

    A virtual asset that somebody holds and does not let go is left to the next run, which finds it still unjudged. This
    one plans with the cut all the same, as with all cuts that are known to come.
    """
    keys = await store.read_closed_misfits(db, zone, closed_until)
    if keys:
        await store.limit_lock_wait(db, LOCK_WAIT_S)
    has_cut, until_s = False, time.monotonic() + PATIENCE_S
    for key in keys:
        try:
            async with db.transaction():
                await revalidate(db, key, now)
        except DATABASE_FAULTS as fault:
            if outage_of(fault) is not Outage.BUSY:
                raise
            log.warning("delivery.asset_is_held", asset_key=key)
            if time.monotonic() > until_s:
                break
        else:
            has_cut = True
    return has_cut
