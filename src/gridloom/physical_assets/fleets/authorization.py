"""Whether a caller may use a fleet: its organisation's members may, and the platform's operator."""

from __future__ import annotations

from uuid import UUID

from gridloom.database.pool import Database
from gridloom.edge import Caller
from gridloom.kernel.problem import Forbidden, NotFound
from gridloom.physical_assets.fleets.store import StoredFleet, read_fleet


async def authorize_fleet(db: Database, caller: Caller, fleet_id: UUID, *, for_change: bool = False) -> StoredFleet:
    stored = await read_fleet(db, fleet_id, for_change=for_change)
    if stored is None:
        raise NotFound(f"There is no fleet {fleet_id}.")
    if stored.fleet.organisation_id != caller.organisation_id and not caller.is_operator:
        raise Forbidden(f"The fleet {fleet_id} belongs to another organisation.")
    return stored
