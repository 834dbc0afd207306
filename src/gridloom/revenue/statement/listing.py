"""The entries of several assets together: of those that an organisation holds, and of batteries that it owns."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from gridloom.delivery.failures.store import read_helped_keys
from gridloom.kernel.market_time import period_number, period_number_from
from gridloom.kernel.window import Window
from gridloom.platform.database.pool import Database
from gridloom.revenue.grid import Grid
from gridloom.revenue.holding_store import Holdings
from gridloom.revenue.statement import store
from gridloom.revenue.statement.loading import load_party_amounts, physical_entries, virtual_entries
from gridloom.revenue.statement.model import Cents, Floats, LineType, StatementEntry
from gridloom.revenue.statement.scope import load_scope, load_virtual_inputs
from gridloom.virtual_assets.store import read_assets_by_keys


async def list_virtual(
    db: Database, keys: Sequence[int], window: Window, grid: Grid, as_of: datetime | None
) -> list[StatementEntry]:
    """From the holders' side."""
    if not keys:
        return []
    scope = await load_scope(db, keys, window, grid, as_of)
    assets = await read_assets_by_keys(db, keys)
    inputs = await load_virtual_inputs(db, scope, [*assets.values()])
    entries = []
    for key in keys:
        if key in assets:
            entries += await virtual_entries(db, scope, assets[key], inputs)
    return entries


async def list_physical(
    db: Database, keys: Sequence[int], window: Window, grid: Grid, as_of: datetime | None
) -> list[StatementEntry]:
    """From the owners' side."""
    if not keys:
        return []
    backed = {key: await _read_concerned_keys(db, key, window) for key in keys}
    everyone = sorted({*keys, *(virtual for own in backed.values() for virtual in own)})
    scope = await load_scope(db, everyone, window, grid, as_of)
    assets = await read_assets_by_keys(db, sorted({key for own in backed.values() for key in own}))
    inputs = await load_virtual_inputs(db, scope, [*assets.values()], scheduled=())
    # Once for each asset, however many batteries stand behind it.
    amounts = {key: await load_party_amounts(db, scope, asset, inputs) for key, asset in assets.items()}
    entries = []
    for key in keys:
        own = [(assets[virtual], amounts[virtual]) for virtual in backed[key] if virtual in assets]
        entries += await physical_entries(db, scope, key, own)
    return entries


async def _read_concerned_keys(db: Database, key: int, window: Window) -> list[int]:
    """The virtual assets on a battery, and on those that it stood in for."""
    helped = await read_helped_keys(db, [key], period_number(window.start), period_number_from(window.end))
    found = [await store.read_backed_keys(db, one, window.start, window.end) for one in (key, *helped)]
    return sorted({virtual for own in found for virtual in own})


async def list_organisation(
    db: Database, holdings: Holdings, window: Window, grid: Grid, as_of: datetime | None
) -> list[StatementEntry]:
    """Both sides; where the organisation is holder and owner, the two entries cancel out."""
    held = await list_virtual(db, holdings.virtual_keys, window, grid, as_of)
    return held + await list_physical(db, holdings.physical_keys, window, grid, as_of)


def sum_entries(entries: Sequence[StatementEntry]) -> dict[tuple[LineType, str], Cents]:
    """Cents by bucket of each line and counterparty, in the order in which a statement shows them."""
    sums: dict[tuple[LineType, str], Cents] = {}
    for entry in entries:
        name = entry.line, entry.counterparty
        sums[name] = sums[name] + entry.by_bucket if name in sums else entry.by_bucket
    order = {line: index for index, line in enumerate(LineType)}
    return {name: sums[name] for name in sorted(sums, key=lambda name: (order[name[0]], name[1]))}


def sum_assumed(entries: Sequence[StatementEntry]) -> dict[tuple[LineType, str], Floats]:
    """MWh by bucket that were assumed rather than measured, of each line and counterparty that has any."""
    sums: dict[tuple[LineType, str], Floats] = {}
    for entry in entries:
        if entry.assumed_mwh is not None:
            name = entry.line, entry.counterparty
            sums[name] = sums[name] + entry.assumed_mwh if name in sums else entry.assumed_mwh
    return sums
