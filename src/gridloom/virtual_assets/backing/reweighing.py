"""Weighing anew what was promised of a physical asset when its parameters change."""

from __future__ import annotations

from gridloom.database.pool import Database
from gridloom.physical_assets.availability.changes import weighs_promises
from gridloom.virtual_assets.backing import store as backing_store
from gridloom.virtual_assets.backing.ledger import weighed_anew


@weighs_promises
async def weigh_anew(db: Database, physical_asset_key: int) -> None:
    """A battery that loses more than before, or may use less of its energy, has promised more of itself than it had.

    The ledger says so from then on: nothing of it can be promised again, and its promises shrink where it is too small.
    """
    before = await backing_store.read_all_steps(db, physical_asset_key)
    if not before:
        return
    demands = await backing_store.read_demands(db, physical_asset_key)
    after = weighed_anew(before, demands, await backing_store.read_means(db, physical_asset_key))
    if after != before:
        await backing_store.replace_steps(db, physical_asset_key, before, after)
