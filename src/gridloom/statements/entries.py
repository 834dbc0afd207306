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
from gridloom.market_calendar import PERIOD_S, Ints
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
    passed_cents: Mapping[UUID, int] = field(default_factory=dict)
    """By organisation, the sum of all entries before the period that the month was cut at."""

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
    cut_at: int | None = None,
) -> MonthAccounts:
    """only: the organisation whose amounts are needed. What holders of other virtual assets trade on their own account
    is then left out, and what those assets did. settled_from: the first period settled by failures, where another than
    that of the platform is asked for. cut_at: a period within the month before which the amounts are summed up as well,
    by organisation."""
    if not assets:
        return MonthAccounts()
    span = SecondsSpan(month.window.start.timestamp(), month.window.end.timestamp())
    grid = grid_of(days_of(span), Resolution.DAY, span)
    scope = await load_scope(db, [asset.key for asset in assets], month.window, grid, as_of, settled_from, cut_at)
    day_starts = np.searchsorted(scope.edges, (grid.buckets.starts_s // PERIOD_S).astype(np.int64))
    passed_buckets = 0 if cut_at is None else int(np.searchsorted(scope.edges, cut_at))
    virtual = await read_assets_by_keys(db, [asset.key for asset in assets if asset.is_virtual])
    held = [asset for asset in virtual.values() if only in (None, asset.organisation_id)]
    inputs = await load_virtual_inputs(db, scope, [*virtual.values()], scheduled=held)
    found: dict[int, list[PartyEntry]] = {}
    months: dict[int, AssetMonth] = {}
    battery_eur: dict[int, float] = {}
    passed_cents: dict[UUID, int] = {}
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
        own = [PartyEntry(asset.organisation_id, entry.line, entry.counterparty, entry.by_bucket) for entry in entries]
        both_sides = own + paid + _mirror_entries(own + paid)
        for one in both_sides:
            passed = int(one.cents[:passed_buckets].sum())
            passed_cents[one.organisation_id] = passed_cents.get(one.organisation_id, 0) + passed
        if by_day := _sum_days(both_sides, day_starts):
            found[asset.key] = by_day
    return MonthAccounts(found, months, battery_eur, passed_cents)


def _sum_days(entries: Sequence[PartyEntry], day_starts: Ints) -> list[PartyEntry]:
    """Of buckets, of which each day may have several; what is zero on every day is left out."""
    by_day = (
        PartyEntry(one.organisation_id, one.line, one.counterparty, np.add.reduceat(one.cents, day_starts))
        for one in entries
    )
    return [one for one in by_day if not is_zero(one.cents)]


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
