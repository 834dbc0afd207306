"""The amounts of both parties that an asset brings forth in a month, from the entries of its statement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

import msgspec
import numpy as np
import zstandard

from gridloom.database.pool import Database
from gridloom.kernel.resolution import Resolution
from gridloom.revenue.grid import days_of, grid_of
from gridloom.revenue.model import SecondsSpan
from gridloom.revenue.statement.loading import load_scope, physical_entries, virtual_entries
from gridloom.revenue.statement.model import LineType
from gridloom.statements.ledger_store import AssetOwner
from gridloom.statements.model import Month, PartyEntry, is_zero
from gridloom.virtual_assets.store import read_asset_by_key


async def load_entries(
    db: Database, assets: Sequence[AssetOwner], month: Month, as_of: datetime | None
) -> dict[int, list[PartyEntry]]:
    """By asset: of a virtual one from its holder's side, mirrored for the owners of its batteries; of a battery what
    it earns and pays by itself. An asset without amounts is left out."""
    if not assets:
        return {}
    window = month.window
    span = SecondsSpan(window.start.timestamp(), window.end.timestamp())
    grid = grid_of(days_of(span), Resolution.DAY, span)
    scope = await load_scope(db, [asset.key for asset in assets], window, grid, as_of)
    found: dict[int, list[PartyEntry]] = {}
    for asset in assets:
        if asset.is_virtual:
            virtual = await read_asset_by_key(db, asset.key)
            entries = [] if virtual is None else await virtual_entries(db, scope, virtual)
        else:
            entries = await physical_entries(db, scope, asset.key, ())
        own = [
            PartyEntry(asset.organisation_id, entry.line, entry.counterparty, entry.by_bucket)
            for entry in entries
            if not is_zero(entry.by_bucket)
        ]
        if own:
            found[asset.key] = own + _mirror_entries(own)
    return found


def _mirror_entries(entries: Sequence[PartyEntry]) -> list[PartyEntry]:
    """The same from the side of counterparties that are organisations."""
    return [
        PartyEntry(UUID(entry.counterparty), entry.line, str(entry.organisation_id), -entry.cents)
        for entry in entries
        if len(entry.counterparty) == 36
    ]


class _Packed(msgspec.Struct, array_like=True):
    organisation_id: bytes
    line: str
    counterparty: str
    cents: list[int]


def pack_entries(entries: Sequence[PartyEntry]) -> bytes:
    rows = [_Packed(one.organisation_id.bytes, one.line, one.counterparty, one.cents.tolist()) for one in entries]
    return zstandard.compress(msgspec.msgpack.encode(rows), 3)


EMPTY: Final = pack_entries(())


def unpack_entries(body: bytes) -> list[PartyEntry]:
    rows = msgspec.msgpack.decode(zstandard.decompress(body), type=list[_Packed])
    return [
        PartyEntry(UUID(bytes=row.organisation_id), LineType(row.line), row.counterparty, np.array(row.cents, np.int64))
        for row in rows
    ]


def unpack_all(bodies: Mapping[int, bytes]) -> list[PartyEntry]:
    return [entry for body in bodies.values() for entry in unpack_entries(body)]
