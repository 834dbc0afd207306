"""The amounts of both parties that an asset brings forth in a month, from the entries of its statement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final
from uuid import UUID

import msgspec
import numpy as np
import zstandard

from gridloom.delivery.performance.performance import load_performance
from gridloom.kernel.market_time import Resolution, period_number
from gridloom.kernel.window import Window
from gridloom.platform.database.pool import Database
from gridloom.revenue.grid import days_of, grid_of
from gridloom.revenue.model import SecondsSpan
from gridloom.revenue.statement.loading import (
    PartyAmounts,
    entries_between_parties,
    list_substitutions,
    load_open,
    load_party_amounts,
    physical_entries,
    sum_by_battery_eur,
    virtual_entries,
)
from gridloom.revenue.statement.model import LineType, StatementEntry
from gridloom.revenue.statement.scope import Scope, VirtualInputs, load_scope, load_virtual_inputs
from gridloom.statements.figures import AssetMonth, load_battery_month, sum_up_virtual
from gridloom.statements.ledger_store import AssetOwner
from gridloom.statements.model import Month, PartyEntry, is_zero
from gridloom.virtual_assets.model import VirtualAsset
from gridloom.virtual_assets.store import read_assets_by_keys

EARNED: Final = frozenset({LineType.TRADING, LineType.FCR, LineType.AFRR_CAPACITY, LineType.AFRR_ENERGY})
"""The lines of an asset's earnings on markets."""


@dataclass(frozen=True, slots=True)
class MonthAccounts:
    """Of some assets and a month. What has no amounts, or did nothing, is left out."""

    entries: Mapping[int, Sequence[PartyEntry]] = field(default_factory=dict)
    """Of a virtual asset from its holder's side, mirrored for the owners of its batteries; of a battery what it earns
    and pays by itself."""
    months: Mapping[int, AssetMonth] = field(default_factory=dict)
    """By asset, what it did."""
    battery_eur: Mapping[int, float] = field(default_factory=dict)
    """By battery, what the lines of virtual assets on it come to for its owner."""

    @property
    def all_entries(self) -> list[PartyEntry]:
        return [entry for some in self.entries.values() for entry in some]


async def load_accounts(
    db: Database,
    assets: Sequence[AssetOwner],
    month: Month,
    as_of: datetime | None,
    *,
    only: UUID | None = None,
    settled_from: int | None = None,
    until: datetime | None = None,
) -> MonthAccounts:
    """only: the organisation whose amounts are needed. What holders of other virtual assets trade on their own account
    is then left out, and what those assets did. settled_from: the first period settled by failures, where another than
    that of the platform is asked for. until: an instant at which the amounts end, where not at the month's end."""
    if not assets:
        return MonthAccounts()
    window = month.window if until is None else Window(month.window.start, until)
    span = SecondsSpan(window.start.timestamp(), window.end.timestamp())
    grid = grid_of(days_of(span), Resolution.DAY, span)
    scope = await load_scope(db, [asset.key for asset in assets], window, grid, as_of, settled_from)
    virtual = await read_assets_by_keys(db, [asset.key for asset in assets if asset.is_virtual])
    held = [asset for asset in virtual.values() if only in (None, asset.organisation_id)]
    inputs = await load_virtual_inputs(db, scope, [*virtual.values()], scheduled=held)
    found: dict[int, list[PartyEntry]] = {}
    months: dict[int, AssetMonth] = {}
    battery_eur: dict[int, float] = {}
    for asset in assets:
        paid: list[PartyEntry] = []
        if not asset.is_virtual:
            entries, did = await _load_battery(db, scope, asset.key, month)
        elif asset.key in virtual:
            amounts = await load_party_amounts(db, scope, virtual[asset.key], inputs)
            for key, eur in sum_by_battery_eur(scope, virtual[asset.key], amounts).items():
                battery_eur[key] = battery_eur.get(key, 0.0) + eur
            paid = [
                PartyEntry(one.payer, LineType.SUBSTITUTION, str(one.payee), -np.diff(one.until))
                for one in list_substitutions(scope, virtual[asset.key], amounts)
            ]
            if only in (None, asset.organisation_id):
                entries, did = await _load_virtual(db, scope, virtual[asset.key], inputs, amounts)
            else:
                entries, did = entries_between_parties(scope, virtual[asset.key], amounts), None
        else:
            continue
        if did is not None:
            months[asset.key] = did
        own = [
            PartyEntry(asset.organisation_id, entry.line, entry.counterparty, entry.by_bucket)
            for entry in entries
            if not is_zero(entry.by_bucket)
        ]
        own += [entry for entry in paid if not is_zero(entry.cents)]
        if own:
            found[asset.key] = own + _mirror_entries(own)
    return MonthAccounts(found, months, battery_eur)


async def _load_battery(
    db: Database, scope: Scope, key: int, month: Month
) -> tuple[list[StatementEntry], AssetMonth | None]:
    performance = await load_performance(db, key, scope.first, scope.end, scope.as_of)
    entries = await physical_entries(db, scope, key, performance=performance)
    earned_eur = sum(int(entry.by_bucket.sum()) for entry in entries) / 100
    return entries, await load_battery_month(db, key, performance, month, period_number(scope.now), earned_eur)


async def _load_virtual(
    db: Database, scope: Scope, asset: VirtualAsset, inputs: VirtualInputs, amounts: PartyAmounts
) -> tuple[list[StatementEntry], AssetMonth | None]:
    position = await load_open(db, scope, asset, inputs)
    entries = await virtual_entries(db, scope, asset, inputs, position, amounts)
    if position is None:
        return entries, None
    earned_cents = sum(int(entry.by_bucket.sum()) for entry in entries if entry.line in EARNED)
    first, end = asset.clip(scope.first, scope.end)
    until = min(period_number(scope.now), end)
    missing = inputs.shortfalls[asset.key].missing
    battery_eur = sum_by_battery_eur(scope, asset, amounts)
    did = sum_up_virtual(asset, first, until, position.power_kw, missing, earned_cents / 100, battery_eur)
    return entries, did


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
